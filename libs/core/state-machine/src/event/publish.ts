/**
 * Publishes events: each matching subscription gets an invocation of its target, sent in the same transition as the change that the
 * event is about. The event is therefore durable exactly when the change is, and everything that holds for messages between invocations
 * holds for events: at least one attempt, retries, one stored delivery.
 */
import { idempotentInvocationId, invariant, utf8 } from "@perdure/base";
import { PRIORITY_DEFAULT } from "@perdure/flow-control";
import { encodeInput, type Failure } from "@perdure/service-protocol";
import type { Invocation, Outcome } from "../invocation.js";
import { type Target, targetText } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { EVENT_TYPES, type EventSubscription, type EventType, matchesEvent } from "./subscription.js";

/** A delivery is kept for a day after its end: long enough to inspect it and to replay it. */
export const DELIVERY_RETENTION_MS = 86_400_000;

/** Names the sender of events in their field `source`, which CloudEvents requires. */
const EVENT_SOURCE = "perdure";

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
  type: EventType,
  invocation: Invocation,
  failure: Pick<Failure, "code" | "message"> | undefined,
  out: Transition,
): void {
  const { facts } = invocation;
  if (facts.event !== undefined) return; // The delivery of an event, or a call of its handler: events must not cause events for ever.
  let body: Uint8Array | undefined;
  for (const subscription of subscriptions) {
    if (!matchesEvent(subscription, type, facts.target)) continue;
    const eventId = eventIdOf(type, invocation, out.nowMs);
    body ??= utf8(JSON.stringify(eventOf(eventId, type, invocation, failure, out.nowMs)));
    deliver(subscription, eventId, type, invocation, body, out);
  }
}

/**
 * The same event has the same id for every subscription. Subject, run and time identify the event: a run is paused or ends once, and
 * generations of an id differ in time.
 */
function eventIdOf(type: EventType, { facts, run }: Invocation, nowMs: number): string {
  const generation = `${facts.createdAtMs.toString(36)}_${nowMs.toString(36)}`;
  return `evt_${facts.id.slice("inv_".length)}_${generation}_${run}${EVENT_TYPES.indexOf(type)}`;
}

/** A CloudEvent. Payloads of the invocation are not part of it. */
function eventOf(
  id: string,
  type: EventType,
  { facts, run, pinned }: Invocation,
  failure: Pick<Failure, "code" | "message"> | undefined,
  nowMs: number,
) {
  const { target } = facts;
  return {
    specversion: "1.0",
    id,
    source: EVENT_SOURCE,
    type,
    time: new Date(nowMs).toISOString(),
    subject: facts.id,
    datacontenttype: "application/json",
    data: {
      target: targetText(target),
      service: target.service,
      key: target.key,
      handler: target.handler,
      scope: target.scope,
      deployment: pinned?.deploymentId,
      created_at: new Date(facts.createdAtMs).toISOString(),
      runs: run,
      failure: failure && { code: failure.code, message: failure.message },
    },
  };
}

/**
 * Locked by subscription and subject: a subscription gets the events of one invocation one after the other, in the order in which they
 * happened, and a delivery that is paused delays no other subscription.
 */
function deliver(
  subscription: EventSubscription,
  eventId: string,
  type: EventType,
  { facts: { id: subject } }: Invocation,
  body: Uint8Array,
  out: Transition,
): void {
  const { service, handler } = subscription.target;
  const target: Target = {
    scope: undefined,
    service,
    key: `${subscription.id}.${subject}`,
    handler,
    serviceType: "virtualObject",
    handlerType: "exclusive",
  };
  const idempotencyKey = `${subscription.id}/${eventId}`;
  const id = idempotentInvocationId(target, idempotencyKey);
  invariant(id !== subject, "an event is delivered by another invocation than its subject");
  const headers = [
    { key: "content-type", value: "application/json" },
    { key: "x-perdure-event-id", value: eventId },
    { key: "x-perdure-event-type", value: type },
    { key: "x-perdure-event-subscription-id", value: subscription.id },
  ];
  out.send({
    kind: "invoke",
    id,
    facts: {
      id,
      target,
      source: { kind: "ingress" },
      idempotencyKey,
      limitKey: undefined,
      priority: PRIORITY_DEFAULT,
      requestId: 0,
      createdAtMs: out.nowMs,
      executionTimeMs: undefined,
      completionRetentionMs: DELIVERY_RETENTION_MS,
      journalRetentionMs: DELIVERY_RETENTION_MS,
      randomSeed: undefined,
      trace: undefined,
      event: { subscriptionId: subscription.id, eventId, type },
      bytes: undefined,
    },
    input: encodeInput(headers, body),
    sink: undefined,
  });
}
