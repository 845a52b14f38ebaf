/** Turns rows of `sys_invocation` into rows of the list. Pure. */
import type { SqlRow } from "@perdure/admin-client";

export interface InvocationListRow {
  readonly id: string;
  readonly service: string;
  /** Key of objects and workflows. */
  readonly key: string | undefined;
  readonly handler: string;
  readonly status: string;
  readonly result: string | undefined;
  readonly createdMs: number;
  readonly modifiedMs: number | undefined;
  readonly completedMs: number | undefined;
  /** Attempts that failed, of those that still run. */
  readonly retries: number;
  readonly nextRetryMs: number | undefined;
  /** The failure of the invocation, or of its last attempt. */
  readonly failure: string | undefined;
  readonly deployment: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly invokedById: string | undefined;
  readonly invokedBy: string | undefined;
  readonly scope: string | undefined;
}

/** Undefined when it has no id: then it is not a row of this table. */
export function rowOf(row: SqlRow): InvocationListRow | undefined {
  const id = textOf(row["id"]);
  if (id === undefined) return undefined;
  return {
    id,
    service: textOf(row["target_service_name"]) ?? "",
    key: textOf(row["target_service_key"]),
    handler: textOf(row["target_handler_name"]) ?? "",
    status: textOf(row["status"]) ?? "unknown",
    result: textOf(row["completion_result"]),
    createdMs: momentOf(row["created_at"]) ?? 0,
    modifiedMs: momentOf(row["modified_at"]),
    completedMs: momentOf(row["completed_at"]),
    retries: typeof row["retry_count"] === "number" ? row["retry_count"] : 0,
    nextRetryMs: momentOf(row["next_retry_at"]),
    failure: textOf(row["completion_failure"]) ?? textOf(row["last_failure"]),
    deployment: textOf(row["pinned_deployment_id"]),
    idempotencyKey: textOf(row["idempotency_key"]),
    invokedById: textOf(row["invoked_by_id"]),
    invokedBy: textOf(row["invoked_by_target"]) ?? textOf(row["invoked_by"]),
    scope: textOf(row["scope"]),
  };
}

/** Returns the duration of an invocation, or its age so far; never below zero, also when clocks differ. */
export function tookMs({ status, createdMs, completedMs }: InvocationListRow, nowMs: number): number {
  const end = status === "completed" ? (completedMs ?? createdMs) : nowMs;
  return Math.max(0, end - createdMs);
}

/** `Service/key/handler`. */
export function targetOf({ service, key, handler }: InvocationListRow): string {
  return key === undefined ? `${service}/${handler}` : `${service}/${key}/${handler}`;
}

export function firstLine(text: string): string {
  const end = text.search(/[\r\n]/);
  return end < 0 ? text : `${text.slice(0, end)} …`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function momentOf(value: unknown): number | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
