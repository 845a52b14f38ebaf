/** What the form of an event subscription becomes, and how a subscription is shown. Pure. */
import type { EventSubscriptionCreation, EventSubscriptionView } from "@perdure/admin-client";

type OfferedEvent = EventSubscriptionCreation["types"][number];

/** Every type with its meaning, those that need an action first. */
export const EVENT_TYPES: readonly { readonly type: OfferedEvent; readonly means: string }[] = [
  { type: "invocation.failed", means: "an invocation ended with a failure" },
  { type: "invocation.paused", means: "an invocation was paused and needs an operator" },
  { type: "subscription.stuck", means: "a Kafka subscription makes no progress" },
  { type: "limit.saturated", means: "a limit is at its maximum and invocations wait" },
  { type: "subscription.recovered", means: "a stuck subscription continues" },
  { type: "limit.recovered", means: "a saturated limit has capacity again" },
  { type: "deployment.drained", means: "no invocation needs an old deployment any more" },
  { type: "invocation.completed", means: "an invocation ended well" },
];

export interface EventForm {
  readonly types: readonly OfferedEvent[];
  readonly destination: "webhook" | "handler";
  readonly url: string;
  readonly service: string;
  readonly handler: string;
  /** Only events of this service; empty: of all. */
  readonly ofService: string;
  readonly description: string;
}

/** Problems by field; empty when the form can be sent. */
export function problemsOf({ types, destination, url }: EventForm): { readonly types?: string; readonly url?: string } {
  return {
    ...(types.length === 0 ? { types: "Choose at least one event." } : {}),
    ...(destination === "webhook" && !isWebAddress(url.trim()) ? { url: "Enter an address that begins with https://." } : {}),
  };
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && ["https:", "http:"].includes(new URL(text).protocol);
}

export function creationOf({
  types,
  destination,
  url,
  service,
  handler,
  ofService,
  description,
}: EventForm): EventSubscriptionCreation {
  return {
    types: [...types],
    to: destination === "webhook" ? { url: url.trim() } : { service, handler },
    filter: ofService === "" ? {} : { service: ofService },
    ...(description.trim() === "" ? {} : { description: description.trim() }),
  };
}

export function destinationText({ to }: Pick<EventSubscriptionView, "to">): string {
  return "url" in to ? to.url : `${to.service}/${to.handler}`;
}

/** `service Orders, scope acme`; undefined without a filter. */
export function filterText({ filter }: Pick<EventSubscriptionView, "filter">): string | undefined {
  const parts = (["service", "handler", "scope"] as const).flatMap((name) =>
    filter[name] === undefined ? [] : [`${name} ${filter[name]}`],
  );
  return parts.length === 0 ? undefined : parts.join(", ");
}
