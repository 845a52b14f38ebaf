/** Builds events, and the invocations that deliver them. */
import { idempotentInvocationId, utf8 } from "@perdure/base";
import { PRIORITY_DEFAULT } from "@perdure/flow-control";
import { encodeInput } from "@perdure/service-protocol";
import type { Invoke } from "../command.js";
import type { Target } from "../target.js";
import type { EventSubscription, EventType } from "./subscription.js";

/** A delivery is kept for a day after its end: long enough to inspect it and to replay it. */
export const DELIVERY_RETENTION_MS = 86_400_000;

/** Names the sender of events in their field `source`, which CloudEvents requires. */
const EVENT_SOURCE = "perdure";

/** An event to deliver; `body` is the CloudEvent as JSON. */
export interface EncodedEvent {
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  readonly body: Uint8Array;
}

export function encodeEvent(id: string, type: EventType, subject: string, atMs: number, data: object): EncodedEvent {
  const event = {
    specversion: "1.0",
    id,
    source: EVENT_SOURCE,
    type,
    time: new Date(atMs).toISOString(),
    subject,
    datacontenttype: "application/json",
    data,
  };
  return { id, type, subject, body: utf8(JSON.stringify(event)) };
}

/**
 * Locked by subscription and subject: a subscription gets the events of one subject one after the other, in the order in which they
 * happened, and a delivery that is paused delays no other subscription. The id follows from subscription and event, so an event that is
 * submitted twice is delivered once.
 */
export function deliveryOf(
  subscription: EventSubscription,
  { id: eventId, type, subject, body }: EncodedEvent,
  nowMs: number,
): Invoke {
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
  const headers = [
    { key: "content-type", value: "application/json" },
    { key: "x-perdure-event-id", value: eventId },
    { key: "x-perdure-event-type", value: type },
    { key: "x-perdure-event-subscription-id", value: subscription.id },
  ];
  return {
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
      createdAtMs: nowMs,
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
  };
}
