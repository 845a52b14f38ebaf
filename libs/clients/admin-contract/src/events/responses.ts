/** Shapes of responses about event subscriptions. */
import { z } from "zod";
import { listShape, TimeShape } from "../fields.js";

export const EventTypeShape = z.enum([
  "invocation.completed",
  "invocation.failed",
  "invocation.paused",
  "subscription.stuck",
  "subscription.recovered",
  "limit.saturated",
  "limit.recovered",
  "deployment.drained",
]);

/** The address without what may be a credential; `redacted` says whether a part is hidden (`***`). */
const WebhookShape = z.strictObject({ url: z.string(), redacted: z.boolean() });

const subscriptionFields = {
  id: z.string(),
  types: z.array(EventTypeShape),
  filter: z.strictObject({ service: z.string().optional(), handler: z.string().optional(), scope: z.string().optional() }),
  to: z.union([z.strictObject({ service: z.string(), handler: z.string() }), WebhookShape]),
  /** Secrets of the webhook that are valid now: two from a rotation until the next, or until the old one is revoked. */
  secret_count: z.int().min(1).max(2).optional(),
  description: z.string().optional(),
  created_at: TimeShape,
};

export const EventSubscriptionShape = z.strictObject(subscriptionFields).meta({ id: "EventSubscriptionResponse" });
/** The secret is shown once: when the subscription is created, and when it is rotated. */
export const EventSubscriptionWithSecretShape = z
  .strictObject({ ...subscriptionFields, secret: z.string().optional() })
  .meta({ id: "EventSubscriptionWithSecretResponse" });

export const EventSubscriptionsShape = listShape("subscriptions", EventSubscriptionShape, "ListEventSubscriptionsResponse");

/** The invocation that delivers the event again: a copy, or the paused delivery itself. */
export const ReplayedDeliveryShape = z.strictObject({ invocation_id: z.string() }).meta({ id: "ReplayedEventDelivery" });
