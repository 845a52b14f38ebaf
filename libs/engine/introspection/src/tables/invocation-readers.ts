/**
 * The columns of `sys_invocation_status` and `sys_invocation` that statements rarely need, read from the whole invocation
 * (`invocation-columns.ts` has the others).
 */
import { type VqueueId, vqueueId } from "@perdure/base";
import { type Failure, futureToJson, waitingCompletions, waitingSignals } from "@perdure/service-protocol";
import { type Invocation, type InvocationFacts, isExclusive, type ServiceType, targetText } from "@perdure/state-machine";
import type { Readers } from "../table.js";

export const invocationReaders: Readers<Invocation> = {
  completion_failure: (invocation) =>
    invocation.status === "completed" && invocation.outcome.kind === "failure"
      ? failureText(invocation.outcome.failure)
      : undefined,
  vqueue_id: ({ facts }) => vqueueOf(facts),
  invoked_by_id: ({ facts }) => (facts.source.kind === "service" ? facts.source.callerId : undefined),
  invoked_by_subscription_id: ({ facts }) => (facts.source.kind === "subscription" ? facts.source.subscriptionId : undefined),
  invoked_by_service_name: ({ facts }) => (facts.source.kind === "service" ? facts.source.callerTarget.service : undefined),
  invoked_by_target: ({ facts }) => (facts.source.kind === "service" ? targetText(facts.source.callerTarget) : undefined),
  restarted_from: ({ facts }) => (facts.source.kind === "restart" ? facts.source.from : undefined),
  trace_id: ({ facts }) => facts.trace?.traceparent.split("-")[1],
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

/** The queue of the invocation: of its limit key in its scope, or of its object; all others wait in no queue. */
function vqueueOf({ target, limitKey }: InvocationFacts): VqueueId | undefined {
  const { service, scope } = target;
  if (scope !== undefined) return vqueueId({ service, scope, limitKey, lockKey: undefined });
  return isExclusive(target) ? vqueueId({ service, scope: undefined, limitKey: undefined, lockKey: target.key }) : undefined;
}

/** `[code] message`. */
export function failureText(failure: Failure): string {
  return `[${failure.code}] ${failure.message}`;
}

/** The same with the label that accompanies 500 where attempts and promises failed. */
export function failureTextWithReason(code: number, message: string): string {
  return `[${code === 500 ? "500 Internal" : code}] ${message}`;
}
