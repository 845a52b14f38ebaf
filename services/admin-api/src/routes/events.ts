/** `/event-subscriptions`: receivers of events about invocations, and repeated deliveries (docs/how-to/events-and-webhooks.md). */
import {
  createEventSubscription,
  getEventSubscription,
  listEventSubscriptions,
  removeEventSubscription,
  replayEventDelivery,
  revokeOldEventSecret,
  rotateEventSecret,
} from "@perdure/admin-contract";
import { CreateEventSubscription, type DeploymentChoice } from "@perdure/admin-contract/requests";
import type { InvocationId } from "@perdure/base";
import type { EventSubscriptionRecord, EventSubscriptionRequest } from "@perdure/metadata";
import { isEventDelivery, WEBHOOK_SERVICE } from "@perdure/state-machine";
import type { z } from "zod";
import { empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer } from "../http/page.js";
import { type ApiRoute, route } from "../http/route.js";
import { eventSubscriptionParam, invocationParam } from "../ids.js";
import { restartAsNew, resume } from "../invocation-operations.js";
import { asDeletion } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";
import { eventSubscriptionView } from "../views/event-view.js";

const UNKNOWN = { 404: "Unknown event subscription" };

export function eventRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const { registry } = ports;
  return [
    route(listEventSubscriptions, {
      summary: "List event subscriptions, oldest first",
      answers: { 200: "The subscriptions, or a page of them" },
      handle: (request) => listAnswer(request, "subscriptions", registry.eventSubscriptions(), ageKey, eventSubscriptionView),
    }),
    route(createEventSubscription, {
      summary: "Send events about invocations or the environment to a handler or a webhook",
      body: CreateEventSubscription,
      answers: {
        201: "Subscribed; the secret of a webhook is shown only here",
        400: "The target cannot receive events (META0103), or a field is unknown",
        409: "There are too many event subscriptions",
      },
      handle: async (request) => {
        const record = await registry.createEventSubscription(requestOf(await request.json(CreateEventSubscription)));
        return json(201, withSecret(record), { location: `event-subscriptions/${record.id}` });
      },
    }),
    route(getEventSubscription, {
      summary: "One event subscription",
      answers: { 200: "The subscription", ...UNKNOWN },
      handle: (request) => {
        const id = eventSubscriptionParam(request);
        const record = registry.eventSubscriptions().find((one) => one.id === id);
        if (record === undefined) throw new RouteError(404, `The requested event subscription '${id}' does not exist`);
        return json(200, eventSubscriptionView(record));
      },
    }),
    route(removeEventSubscription, {
      summary: "End an event subscription; deliveries to its handler continue, those to its webhook fail",
      answers: { 202: "Ended", ...UNKNOWN },
      handle: async (request) => {
        const id = eventSubscriptionParam(request);
        const record = registry.eventSubscriptions().find((one) => one.id === id);
        const deletion = { verb: "delete-event-subscription", subject: `event subscription ${id}`, record } as const;
        const { headers } = await asDeletion(ports, request, deletion, (undo) => registry.removeEventSubscription(id, undo));
        return empty(202, headers);
      },
    }),
    route(rotateEventSecret, {
      summary: "Sign with a new secret; the present one signs too until the next rotation",
      answers: { 200: "The subscription with its new secret", 400: "It has no webhook (META0103)", ...UNKNOWN },
      handle: async (request) => json(200, withSecret(await registry.rotateEventSecret(eventSubscriptionParam(request)))),
    }),
    route(revokeOldEventSecret, {
      summary: "Sign only with the present secret, at once; for a secret that has leaked, after a rotation",
      answers: { 200: "The subscription", 400: "It has no webhook (META0103)", ...UNKNOWN },
      handle: async (request) =>
        json(200, eventSubscriptionView(await registry.revokeOldEventSecret(eventSubscriptionParam(request)))),
    }),
    route(replayEventDelivery, {
      summary: "Deliver an event again: one that was delivered, that failed, or whose delivery is paused",
      answers: {
        200: "The invocation that delivers it",
        404: "Unknown delivery",
        409: "The delivery is under way",
        410: "The event is not kept any more",
      },
      handle: async (request) => json(200, { invocation_id: await replay(ports, invocationParam(request)) }),
    }),
  ];
}

async function replay(ports: AdminPorts, id: InvocationId): Promise<InvocationId> {
  const delivery = await ports.partitions.describe(id);
  if (delivery === undefined || !isEventDelivery(delivery.facts))
    throw new RouteError(404, `The requested delivery '${id}' does not exist`);
  if (delivery.status !== "completed" && delivery.status !== "paused")
    throw new RouteError(409, `The delivery '${id}' is under way`);
  // Deliveries to webhooks run in the workers, on a deployment that no registry has.
  const choice: DeploymentChoice = { kind: delivery.facts.target.service === WEBHOOK_SERVICE ? "keep" : "latest" };
  const outcome = delivery.status === "paused" ? await resume(ports, id, choice) : await restartAsNew(ports, id, 0, choice);
  if (outcome.problem !== undefined) throw new RouteError(outcome.status, outcome.problem);
  return outcome.newId ?? id;
}

function requestOf({ types, filter, to, description }: z.infer<typeof CreateEventSubscription>): EventSubscriptionRequest {
  return {
    types,
    filter: {
      service: filter?.service ?? undefined,
      handler: filter?.handler ?? undefined,
      scope: filter?.scope ?? undefined,
    },
    destination: "url" in to ? { kind: "webhook", url: to.url } : { kind: "handler", target: to },
    description: description ?? undefined,
  };
}

function withSecret(record: EventSubscriptionRecord) {
  return { ...eventSubscriptionView(record), secret: record.webhook?.secrets[0] };
}

/** Sorts oldest first. */
function ageKey({ createdAtMs, id }: EventSubscriptionRecord): string {
  return `${String(createdAtMs).padStart(16, "0")} ${id}`;
}
