/** Turns one row of `sys_invocation` into the texts of the page's head. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { type FailureParts, partsOf } from "./failure-text.js";

export interface InvocationSummary {
  readonly id: string;
  readonly target: string;
  readonly service: string;
  readonly key: string | undefined;
  readonly handler: string;
  readonly isWorkflow: boolean;
  readonly isService: boolean;
  readonly status: string;
  readonly result: string | undefined;
  /** `[402] message`, of a completed one that failed. */
  readonly completionFailure: string | undefined;
  readonly createdAt: string | undefined;
  readonly runningAt: string | undefined;
  readonly completedAt: string | undefined;
  readonly scheduledStartAt: string | undefined;
  readonly completionRetention: string | undefined;
  readonly journalRetention: string | undefined;
  /** Pinned, or the deployment of the last attempt. */
  readonly deploymentId: string | undefined;
  readonly isPinned: boolean;
  readonly sdk: string | undefined;
  readonly protocolVersion: number | undefined;
  readonly idempotencyKey: string | undefined;
  readonly scope: string | undefined;
  readonly limitKey: string | undefined;
  readonly traceId: string | undefined;
  readonly invokedBy: string;
  readonly callerId: string | undefined;
  readonly callerTarget: string | undefined;
  readonly subscriptionId: string | undefined;
  readonly restartedFrom: string | undefined;
  readonly journalSize: number;
  /** Attempts of the present run; 0 when it is not with an invoker. */
  readonly attempts: number;
  readonly nextRetryAt: string | undefined;
  readonly lastFailure: (FailureParts & { readonly code: string | undefined; readonly step: string | undefined }) | undefined;
}

export function factsOf(row: SqlRow): InvocationSummary {
  const text = (column: string) => {
    const value = row[column];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const number = (column: string) => {
    const value = row[column];
    return typeof value === "number" ? value : undefined;
  };
  const failure = text("last_failure");
  const type = text("target_service_ty");
  return {
    id: text("id") ?? "",
    target: text("target") ?? "",
    service: text("target_service_name") ?? "",
    key: typeof row["target_service_key"] === "string" ? row["target_service_key"] : undefined,
    handler: text("target_handler_name") ?? "",
    isWorkflow: type === "workflow",
    isService: type === "service",
    status: text("status") ?? "unknown",
    result: text("completion_result"),
    completionFailure: text("completion_failure"),
    createdAt: text("created_at"),
    runningAt: text("running_at"),
    completedAt: text("completed_at"),
    scheduledStartAt: text("scheduled_start_at"),
    completionRetention: text("completion_retention"),
    journalRetention: text("journal_retention"),
    deploymentId: text("pinned_deployment_id") ?? text("last_attempt_deployment_id"),
    isPinned: text("pinned_deployment_id") !== undefined,
    sdk: text("last_attempt_server"),
    protocolVersion: number("pinned_service_protocol_version"),
    idempotencyKey: text("idempotency_key"),
    scope: text("scope"),
    limitKey: text("limit_key"),
    traceId: text("trace_id"),
    invokedBy: text("invoked_by") ?? "unknown",
    callerId: text("invoked_by_id"),
    callerTarget: text("invoked_by_target"),
    subscriptionId: text("invoked_by_subscription_id"),
    restartedFrom: text("restarted_from"),
    journalSize: number("journal_size") ?? 0,
    attempts: number("retry_count") ?? 0,
    nextRetryAt: text("next_retry_at"),
    lastFailure:
      failure === undefined ? undefined : { ...partsOf(failure), code: text("last_failure_error_code"), step: relatedStep(row) },
  };
}

function relatedStep(row: SqlRow): string | undefined {
  const index = row["last_failure_related_command_index"];
  const name = row["last_failure_related_command_name"];
  const type = row["last_failure_related_command_type"];
  const parts = [
    typeof type === "string" ? type : undefined,
    typeof name === "string" && name !== "" ? `'${name}'` : undefined,
    typeof index === "number" ? `(command ${index})` : undefined,
  ];
  const definedParts = parts.filter((part) => part !== undefined);
  return definedParts.length === 0 ? undefined : definedParts.join(" ");
}

/** `PT86400S`, `P1DT2H3M4.5S` in milliseconds; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  const match = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(text);
  if (match === null) return undefined;
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] = match;
  return (((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
}
