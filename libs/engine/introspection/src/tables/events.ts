/** `sys_event_subscription` and `sys_event_delivery`: the receivers of events about invocations, and the deliveries. */
import { type InvocationId, partitionKeyOf, unreachable } from "@perdure/base";
import { type Invocation, isEventDelivery, WEBHOOK_SERVICE } from "@perdure/state-machine";
import { InvocationFields } from "@perdure/storage";
import type { EventSubscriptionRow } from "../ports.js";
import { defineTable } from "../table.js";
import { failureText } from "./invocation-readers.js";
import { anyStatus, findInvocations } from "./invocations.js";

export const eventSubscription = defineTable<EventSubscriptionRow>({
  name: "sys_event_subscription",
  readers: {
    id: ({ id }) => id,
    types: ({ types }) => types,
    filter_service_name: ({ filter }) => filter.service,
    filter_handler_name: ({ filter }) => filter.handler,
    filter_scope: ({ filter }) => filter.scope,
    target: ({ target: { service, handler } }) => (service === WEBHOOK_SERVICE ? undefined : `${service}/${handler}`),
    url: ({ url }) => url,
    description: ({ description }) => description,
    created_at: ({ createdAtMs }) => createdAtMs,
  },
  rows: ({ live }) => live.eventSubscriptions(),
});

type EventDelivery = Invocation & { readonly facts: { readonly event: NonNullable<Invocation["facts"]["event"]> } };

export const eventDelivery = defineTable<EventDelivery>({
  name: "sys_event_delivery",
  readers: {
    partition_key: ({ facts }) => partitionKeyOf(facts.id),
    id: ({ facts }) => facts.id,
    subscription_id: ({ facts }) => facts.event.subscriptionId,
    event_id: ({ facts }) => facts.event.eventId,
    event_type: ({ facts }) => facts.event.type,
    subject: ({ facts }) => facts.target.key?.slice(facts.event.subscriptionId.length + 1),
    status: deliveryStatus,
    failure: (delivery) =>
      delivery.status === "completed" && delivery.outcome.kind === "failure" ? failureText(delivery.outcome.failure) : undefined,
    replay_of: ({ facts }): InvocationId | undefined => (facts.source.kind === "restart" ? facts.source.from : undefined),
    created_at: ({ facts }) => facts.createdAtMs,
    modified_at: ({ modifiedAtMs }) => modifiedAtMs,
    completed_at: ({ milestones }) => milestones.completedAtMs,
  },
  async *rows(source, hints) {
    const fields = new InvocationFields();
    for await (const rows of findInvocations(source, hints, anyStatus)) {
      for (const row of rows) {
        fields.load(row);
        if (!fields.facts.hasEvent || fields.facts.sourceKind === "service") continue; // Calls of handlers deliver nothing.
        const delivery = fields.decoded();
        if (isDelivery(delivery)) yield delivery;
      }
    }
  },
});

function isDelivery(invocation: Invocation): invocation is EventDelivery {
  return isEventDelivery(invocation.facts);
}

/** `failed` and `paused` deliveries are the dead-letter list: they are repeated only by a request. */
function deliveryStatus(delivery: EventDelivery): "waiting" | "delivering" | "paused" | "delivered" | "failed" {
  switch (delivery.status) {
    case "scheduled":
    case "inboxed":
      return "waiting";
    case "invoked":
    case "suspended":
    case "ready":
      return "delivering";
    case "paused":
      return "paused";
    case "completed":
      return delivery.outcome.kind === "success" ? "delivered" : "failed";
    default:
      return unreachable(delivery);
  }
}
