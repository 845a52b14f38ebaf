/** Why: `sys_invocation_status` and `sys_invocation` show the same facts of a stored invocation. */
import { type VqueueId, vqueueId } from "@perdure/base";
import { type Invocation, type InvocationFacts, isExclusive, type ServiceType, targetText } from "@perdure/partition";
import { type Failure, futureToJson, waitingCompletions, waitingSignals } from "@perdure/service-protocol";
import type { Readers } from "../table.js";

export const invocationReaders: Readers<Invocation> = {
  id: ({ facts }) => facts.id,
  completion_result: (invocation) => (invocation.status === "completed" ? invocation.outcome.kind : undefined),
  completion_failure: (invocation) =>
    invocation.status === "completed" && invocation.outcome.kind === "failure"
      ? failureText(invocation.outcome.failure)
      : undefined,
  target: ({ facts }) => targetText(facts.target),
  target_service_name: ({ facts }) => facts.target.service,
  target_service_key: ({ facts }) => facts.target.key,
  target_handler_name: ({ facts }) => facts.target.handler,
  target_service_ty: ({ facts }) => serviceTypeText(facts.target.serviceType),
  vqueue_id: ({ facts }) => vqueueOf(facts),
  idempotency_key: ({ facts }) => facts.idempotencyKey,
  invoked_by: ({ facts }) => (facts.source.kind === "restart" ? "restart_as_new" : facts.source.kind),
  invoked_by_id: ({ facts }) => (facts.source.kind === "service" ? facts.source.callerId : undefined),
  invoked_by_subscription_id: ({ facts }) => (facts.source.kind === "subscription" ? facts.source.subscriptionId : undefined),
  invoked_by_service_name: ({ facts }) => (facts.source.kind === "service" ? facts.source.callerTarget.service : undefined),
  invoked_by_target: ({ facts }) => (facts.source.kind === "service" ? targetText(facts.source.callerTarget) : undefined),
  restarted_from: ({ facts }) => (facts.source.kind === "restart" ? facts.source.from : undefined),
  pinned_deployment_id: ({ pinned }) => pinned?.deploymentId,
  pinned_service_protocol_version: ({ pinned }) => pinned?.protocolVersion,
  trace_id: ({ facts }) => facts.trace?.traceparent.split("-")[1],
  journal_size: (invocation) => (hasBegun(invocation) ? invocation.journal.length : undefined),
  journal_commands_size: (invocation) => (hasBegun(invocation) ? invocation.journal.commands : undefined),
  created_at: ({ facts }) => facts.createdAtMs,
  modified_at: ({ modifiedAtMs }) => modifiedAtMs,
  inboxed_at: ({ milestones }) => milestones.inboxedAtMs,
  scheduled_at: ({ milestones }) => milestones.scheduledAtMs,
  scheduled_start_at: ({ facts }) => facts.executionTimeMs,
  running_at: ({ milestones }) => milestones.runningAtMs,
  completed_at: ({ milestones }) => milestones.completedAtMs,
  completion_retention: ({ facts }) => facts.completionRetentionMs,
  journal_retention: ({ facts }) => facts.journalRetentionMs,
  suspended_waiting_for_completions: (invocation) =>
    invocation.status === "suspended" ? waitingCompletions(invocation.awaiting) : undefined,
  suspended_waiting_for_signals: (invocation) =>
    invocation.status === "suspended" ? waitingSignals(invocation.awaiting) : undefined,
  suspended_waiting_future_json: (invocation) =>
    invocation.status === "suspended" ? JSON.stringify(futureToJson(invocation.awaiting)) : undefined,
};

export function serviceTypeText(type: ServiceType): string {
  return type === "virtualObject" ? "virtual_object" : type;
}

/** The queue it goes through: of its limit key in its scope, or of its object; all others wait for nobody. */
function vqueueOf({ target, limitKey }: InvocationFacts): VqueueId | undefined {
  const { service, scope } = target;
  if (scope !== undefined) return vqueueId({ service, scope, limitKey, lockKey: undefined });
  return isExclusive(target) ? vqueueId({ service, scope: undefined, limitKey: undefined, lockKey: target.key }) : undefined;
}

/** `[code] message`. */
export function failureText(failure: Failure): string {
  return `[${failure.code}] ${failure.message}`;
}

/** The same with the word that stands beside 500 where attempts and promises failed. */
export function failureTextWithWord(code: number, message: string): string {
  return `[${code === 500 ? "500 Internal" : code}] ${message}`;
}

/** Before its first run an invocation has a journal to us (its input) but not to people. */
function hasBegun(invocation: Invocation): boolean {
  return invocation.status !== "scheduled" && invocation.status !== "inboxed";
}
