/** Event subscriptions as a partition needs them: which changes of invocations they match, and where the events go. */
import type { EventSubscriptionId } from "@perdure/base";
import type { InvocationFacts } from "../invocation.js";
import type { Target } from "../target.js";

/** `completed`: ended with a result; `failed`: ended with a failure, killed and cancelled ones among them. */
export const EVENT_TYPES = ["invocation.completed", "invocation.failed", "invocation.paused"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Undefined matches everything. */
export interface EventFilter {
  readonly service: string | undefined;
  readonly handler: string | undefined;
  readonly scope: string | undefined;
}

/** The handler that an event invokes: of a service, or an exclusive one of a virtual object. */
export interface EventTarget {
  readonly service: string;
  readonly handler: string;
}

export interface EventSubscription {
  readonly id: EventSubscriptionId;
  readonly types: readonly EventType[];
  readonly filter: EventFilter;
  readonly target: EventTarget;
}

/** Name of the service whose invocations deliver events to webhooks; its handlers are named after the subscriptions. */
export const WEBHOOK_SERVICE = "perdure.webhooks";

/** Where a subscription sends events by HTTP, and the keys that sign them, newest first: `whsec_` and base64. */
export interface Webhook {
  readonly url: string;
  readonly secrets: readonly string[];
}

/** An event subscription with its webhook. Those with one have `WEBHOOK_SERVICE` as their target. */
export interface EventRoute extends EventSubscription {
  readonly webhook: Webhook | undefined;
}

/** The event that an invocation delivers, or that an invocation goes back to. Such invocations produce no events. */
export interface EventOrigin {
  readonly subscriptionId: EventSubscriptionId;
  readonly eventId: string;
  readonly type: EventType;
}

/** A delivery, in contrast to invocations that a receiving handler made, and to restarts of those. */
export function isEventDelivery({ event, target, source }: Pick<InvocationFacts, "event" | "target" | "source">): boolean {
  return event !== undefined && source.kind !== "service" && target.key?.startsWith(`${event.subscriptionId}.`) === true;
}

/** Whether the subscription receives events of this type about invocations of this target. */
export function matchesEvent({ types, filter }: EventSubscription, type: EventType, target: Target): boolean {
  return (
    types.includes(type) &&
    (filter.service === undefined || filter.service === target.service) &&
    (filter.handler === undefined || filter.handler === target.handler) &&
    (filter.scope === undefined || filter.scope === target.scope)
  );
}
