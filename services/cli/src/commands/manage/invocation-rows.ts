/** Statements over `sys_invocation` that several commands send. */
import type { InvocationVerb } from "@perdure/admin-contract";

const LIST_COLUMNS =
  "id, target, status, created_at, modified_at, scheduled_start_at, pinned_deployment_id, retry_count, next_retry_at, " +
  "last_failure, last_failure_error_code, completion_result, completion_failure, invoked_by, invoked_by_target";

/** The newest invocations that meet the condition. */
export function listStatement(condition: string | undefined, includesCompleted: boolean, limit: number): string {
  const conditions = [condition, includesCompleted ? undefined : "status != 'completed'"].filter((part) => part !== undefined);
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return `SELECT ${LIST_COLUMNS} FROM sys_invocation${where} ORDER BY created_at DESC LIMIT ${limit}`;
}

/** Selects only invocations to which the verb applies: completed ones that cannot be killed are not reported as failures. */
export function applicableCondition(chosen: string | undefined, verb: InvocationVerb): string {
  const isOfCompleted = verb === "purge" || verb === "purge-journal" || verb === "restart-as-new";
  const able = isOfCompleted ? "status = 'completed'" : "status != 'completed'";
  return chosen === undefined ? able : `${able} AND ${chosen}`;
}
