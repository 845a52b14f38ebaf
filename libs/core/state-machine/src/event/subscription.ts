/** Event subscriptions as a partition needs them: which changes of invocations they match, and where the events go. */
import type { EventSubscriptionId } from "@perdure/base";
import type { InvocationFacts } from "../invocation.js";
import type { Target } from "../target.js";

/** `completed`: ended with a result; `failed`: ended with a failure, killed and cancelled ones among them. */
export const INVOCATION_EVENT_TYPES = ["invocation.completed", "invocation.failed", "invocation.paused"] as const;
export type InvocationEventType = (typeof INVOCATION_EVENT_TYPES)[number];

/** Events about the environment. `recovered` follows only on the event before it. */
export const ENVIRONMENT_EVENT_TYPES = [
  "subscription.stuck",
  "subscription.recovered",
  "limit.saturated",
  "limit.recovered",
  "deployment.drained",
] as const;
export type EnvironmentEventType = (typeof ENVIRONMENT_EVENT_TYPES)[number];

export const EVENT_TYPES = [...INVOCATION_EVENT_TYPES, ...ENVIRONMENT_EVENT_TYPES] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** What an event is about, for the filters of subscriptions. */
export interface EventAbout {
  readonly services: readonly string[];
  readonly handler: string | undefined;
  readonly scope: string | undefined;
}

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

/** Whether the subscription receives an event about the environment; a filter for something that the event does not name excludes it. */
export function matchesEnvironmentEvent(
  { types, filter }: EventSubscription,
  type: EnvironmentEventType,
  { services, handler, scope }: EventAbout,
): boolean {
  return (
    types.includes(type) &&
    (filter.service === undefined || services.includes(filter.service)) &&
    (filter.handler === undefined || filter.handler === handler) &&
    (filter.scope === undefined || filter.scope === scope)
  );
}
