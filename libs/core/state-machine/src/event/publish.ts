/**
 * Publishes events: each matching subscription gets an invocation of its target, sent in the same transition as the change that the
 * event is about. The event is therefore durable exactly when the change is, and everything that holds for messages between invocations
 * holds for events: at least one attempt, retries, one stored delivery.
 */
import { invariant } from "@perdure/base";
import type { Failure } from "@perdure/service-protocol";
import type { Invocation, Outcome } from "../invocation.js";
import { targetText } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { deliveryOf, type EncodedEvent, encodeEvent } from "./delivery.js";
import { type EventSubscription, INVOCATION_EVENT_TYPES, type InvocationEventType, matchesEvent } from "./subscription.js";

/** An invocation has ended. */
export function publishOutcome(view: PartitionView, invocation: Invocation, outcome: Outcome, out: Transition): void {
  if (view.eventSubscriptions === undefined) return;
  if (outcome.kind === "success") publish(view.eventSubscriptions, "invocation.completed", invocation, undefined, out);
  else publish(view.eventSubscriptions, "invocation.failed", invocation, outcome.failure, out);
}

/** An invocation was paused, with the error of its last attempt when that is the reason. */
export function publishPause(
  view: PartitionView,
  invocation: Invocation,
  error: { readonly code: number; readonly message: string } | undefined,
  out: Transition,
): void {
  if (view.eventSubscriptions !== undefined) publish(view.eventSubscriptions, "invocation.paused", invocation, error, out);
}

function publish(
  subscriptions: readonly EventSubscription[],
  type: InvocationEventType,
  invocation: Invocation,
  failure: Pick<Failure, "code" | "message"> | undefined,
  out: Transition,
): void {
  const { facts } = invocation;
  if (facts.event !== undefined) return; // The delivery of an event, or a call of its handler: events must not cause events for ever.
  let event: EncodedEvent | undefined;
  for (const subscription of subscriptions) {
    if (!matchesEvent(subscription, type, facts.target)) continue;
    event ??= encodeEvent(eventIdOf(type, invocation, out.nowMs), type, facts.id, out.nowMs, dataOf(invocation, failure));
    const command = deliveryOf(subscription, event, out.nowMs);
    invariant(command.id !== facts.id, "an event is delivered by another invocation than its subject");
    out.send(command);
  }
}

/**
 * The same event has the same id for every subscription. Subject, run and time identify the event: a run is paused or ends once, and
 * generations of an id differ in time.
 */
function eventIdOf(type: InvocationEventType, { facts, run }: Invocation, nowMs: number): string {
  const generation = `${facts.createdAtMs.toString(36)}_${nowMs.toString(36)}`;
  return `evt_${facts.id.slice("inv_".length)}_${generation}_${run}${INVOCATION_EVENT_TYPES.indexOf(type)}`;
}

/** Payloads of the invocation are not part of it. */
function dataOf({ facts, run, pinned }: Invocation, failure: Pick<Failure, "code" | "message"> | undefined) {
  const { target } = facts;
  return {
    target: targetText(target),
    service: target.service,
    key: target.key,
    handler: target.handler,
    scope: target.scope,
    deployment: pinned?.deploymentId,
    created_at: new Date(facts.createdAtMs).toISOString(),
    runs: run,
    failure: failure && { code: failure.code, message: failure.message },
  };
}
