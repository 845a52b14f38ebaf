/** Event subscriptions as metadata. They are checked when they are created, so that partitions find only valid ones. */
import { type EventSubscriptionId, isRedactedUrl } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import { type EventSubscriptionRecord, type EventSubscriptionRequest, RegistryRefusal } from "@perdure/metadata";
import { type EventTarget, WEBHOOK_SERVICE } from "@perdure/state-machine";
import { EVENT_SUBSCRIPTIONS_MAX, WEBHOOK_SECRETS_MAX } from "./limits.js";
import { deleteEventSubscription, putEventSubscription } from "./persistence.js";
import type { RegistryState, StateChange, Versioned } from "./state.js";

/** Decided before the change, so that a change that is decided again is the same. */
interface Fresh {
  readonly id: EventSubscriptionId;
  readonly secret: string;
  readonly nowMs: number;
}

/** Returns a signing secret in the form of the Standard Webhooks specification: 24 random bytes. */
export function newWebhookSecret(bytes: (into: Uint8Array) => void): string {
  const key = new Uint8Array(24);
  bytes(key);
  return `whsec_${Buffer.from(key).toString("base64")}`;
}

export function listEventSubscriptions(state: RegistryState): readonly EventSubscriptionRecord[] {
  const records = [...state.eventSubscriptions.values()].map(({ record }) => record);
  return records.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
}

/** Throws `RegistryRefusal` META0103 unless the target can receive events. */
export function decideEventSubscription(
  state: RegistryState,
  { types, filter, destination, description }: EventSubscriptionRequest,
  { id, secret, nowMs }: Fresh,
  guard: EgressGuard | undefined,
): StateChange<EventSubscriptionRecord> {
  if (state.eventSubscriptions.size >= EVENT_SUBSCRIPTIONS_MAX) {
    throw new RegistryRefusal(409, undefined, `there are already ${EVENT_SUBSCRIPTIONS_MAX} event subscriptions`);
  }
  const common = { id, types: [...new Set(types)], filter, description, createdAtMs: nowMs };
  let record: EventSubscriptionRecord;
  if (destination.kind === "handler") {
    checkTarget(state, destination.target);
    record = { ...common, target: destination.target, webhook: undefined };
  } else {
    checkUrl(destination.url, guard);
    const webhook = { url: destination.url, secrets: [secret] };
    record = { ...common, target: { service: WEBHOOK_SERVICE, handler: id }, webhook };
  }
  return { writes: [putEventSubscription(record, undefined)], answer: record };
}

export function decideEventSubscriptionRemoval(state: RegistryState, id: EventSubscriptionId): StateChange<undefined> {
  return { writes: [deleteEventSubscription(requireSubscription(state, id))], answer: undefined };
}

/** The new secret signs from now on; the one before it stays valid until the next rotation. */
export function decideSecretRotation(
  state: RegistryState,
  id: EventSubscriptionId,
  secret: string,
): StateChange<EventSubscriptionRecord> {
  const { stored, webhook } = requireWebhook(state, id);
  const secrets = [secret, ...webhook.secrets].slice(0, WEBHOOK_SECRETS_MAX);
  const record = { ...stored.record, webhook: { url: webhook.url, secrets } };
  return { writes: [putEventSubscription(record, stored)], answer: record };
}

/** Only the present secret stays valid, for the case that the one before it has leaked. */
export function decideOldSecretRevocation(state: RegistryState, id: EventSubscriptionId): StateChange<EventSubscriptionRecord> {
  const { stored, webhook } = requireWebhook(state, id);
  if (webhook.secrets.length <= 1) return { writes: [], answer: stored.record };
  const record = { ...stored.record, webhook: { url: webhook.url, secrets: webhook.secrets.slice(0, 1) } };
  return { writes: [putEventSubscription(record, stored)], answer: record };
}

function requireWebhook(state: RegistryState, id: EventSubscriptionId) {
  const stored = requireSubscription(state, id);
  const { webhook } = stored.record;
  if (webhook === undefined) throw invalid(`the event subscription '${id}' has no webhook, so it has no secret`);
  return { stored, webhook };
}

function requireSubscription(state: RegistryState, id: EventSubscriptionId): Versioned<EventSubscriptionRecord> {
  const stored = state.eventSubscriptions.get(id);
  if (stored === undefined) throw new RegistryRefusal(404, undefined, `The requested event subscription '${id}' does not exist`);
  return stored;
}

/**
 * Deliveries are locked by the invocation that they are about, which only services and exclusive handlers can be. Undefined: it is not
 * registered.
 */
export function receivesEvents(state: RegistryState, { service, handler }: EventTarget): boolean | undefined {
  const definition = state.latest.get(service)?.revision.definition;
  const found = definition?.handlers.find(({ name }) => name === handler);
  if (definition === undefined || found === undefined) return undefined;
  return definition.kind === "service" || (definition.kind === "virtualObject" && found.kind === "exclusive");
}

function checkTarget(state: RegistryState, target: EventTarget): void {
  const { service, handler } = target;
  const isReceiver = receivesEvents(state, target);
  if (isReceiver === undefined) throw invalid(`'${service}/${handler}' is not registered`);
  if (isReceiver) return;
  throw invalid(
    `'${service}/${handler}' cannot receive events in order: use a handler of a service, or an exclusive one of a virtual object`,
  );
}

function checkUrl(text: string, guard: EgressGuard | undefined): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw invalid("the address of a webhook is an absolute URL with the scheme https or http");
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw invalid("the address of a webhook has no credentials and no fragment");
  if (isRedactedUrl(text)) throw invalid("the address of the webhook is redacted, as it is shown; send the address itself");
  if (guard?.allows(text) === false) throw invalid("destination not allowed");
}

function invalid(detail: string): RegistryRefusal {
  return new RegistryRefusal(400, "META0103", detail);
}
