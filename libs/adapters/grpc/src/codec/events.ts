/** Event subscriptions as messages of `proto/control/v1/registry.proto`, and back. */
import { create } from "@bufbuild/protobuf";
import { type EventSubscriptionId, parseEventSubscriptionId } from "@perdure/base";
import type { EventSubscriptionRecord, EventSubscriptionRequest } from "@perdure/metadata";
import { EVENT_TYPES, type EventFilter, type EventTarget, type EventType, type Webhook } from "@perdure/state-machine";
import * as proto from "../gen/v1/registry_pb.js";
import { given, refuse, required } from "./checks.js";
import { checked, choice, type FieldCodec, list, message, nested, optional, same, text, whole } from "./form.js";

/** Throws OPS0003 when the text is not the id of an event subscription. */
export function checkedEventSubscriptionId(id: string): EventSubscriptionId {
  const parsed = parseEventSubscriptionId(id);
  return parsed.ok ? parsed.value : refuse("the id of an event subscription", id);
}

const types: FieldCodec<readonly EventType[], string[]> = list(choice(EVENT_TYPES, "the type of an event"));
const filter = message<EventFilter, typeof proto.EventFilterSchema>(proto.EventFilterSchema, {
  service: optional(text),
  handler: optional(text),
  scope: optional(text),
});
const target = message<EventTarget, typeof proto.EventTargetSchema>(proto.EventTargetSchema, { service: text, handler: text });
const webhook = message<Webhook, typeof proto.WebhookSchema>(proto.WebhookSchema, {
  url: text,
  secrets: { to: (secrets) => [...secrets], from: same<readonly string[]>().from },
});

export const eventSubscription = message<EventSubscriptionRecord, typeof proto.EventSubscriptionSchema>(
  proto.EventSubscriptionSchema,
  {
    id: checked(checkedEventSubscriptionId),
    types,
    filter: nested(filter, "the filter of an event subscription"),
    target: nested(target, "the target of an event subscription"),
    webhook: optional(webhook),
    description: optional(text),
    createdAtMs: whole,
  },
);

/** Those of the data path: undefined when there are none. */
export const eventRoutes: FieldCodec<readonly EventSubscriptionRecord[] | undefined, proto.EventSubscription[]> = {
  to: (records) => (records ?? []).map(eventSubscription.to),
  from: (messages) => (messages.length === 0 ? undefined : messages.map(eventSubscription.from)),
};

export const eventSubscriptionRequest: FieldCodec<EventSubscriptionRequest, proto.CreateEventSubscriptionRequest> = {
  to({ types: requested, filter: requestedFilter, destination, description }) {
    return create(proto.CreateEventSubscriptionRequestSchema, {
      types: types.to(requested),
      filter: filter.to(requestedFilter),
      destination:
        destination.kind === "handler"
          ? { case: "target", value: target.to(destination.target) }
          : { case: "webhookUrl", value: destination.url },
      ...given("description", description),
    });
  },
  from(request) {
    const { destination } = request;
    if (destination.case === undefined) return refuse("the destination of an event subscription", destination.case);
    return {
      types: types.from(request.types),
      filter: filter.from(required(request.filter, "the filter of an event subscription")),
      destination:
        destination.case === "target"
          ? { kind: "handler", target: target.from(destination.value) }
          : { kind: "webhook", url: destination.value },
      description: request.description,
    };
  },
};
