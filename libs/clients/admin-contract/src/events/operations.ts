import { type AdminOperation, PAGE_QUERY } from "../operation.js";
import {
  EventSubscriptionShape,
  EventSubscriptionsShape,
  EventSubscriptionWithSecretShape,
  ReplayedDeliveryShape,
} from "./responses.js";

export const listEventSubscriptions = {
  method: "GET",
  path: "/event-subscriptions",
  query: PAGE_QUERY,
  results: { 200: EventSubscriptionsShape },
} as const satisfies AdminOperation;

export const createEventSubscription = {
  method: "POST",
  path: "/event-subscriptions",
  results: { 201: EventSubscriptionWithSecretShape },
} as const satisfies AdminOperation;

export const getEventSubscription = {
  method: "GET",
  path: "/event-subscriptions/{event_subscription}",
  results: { 200: EventSubscriptionShape },
} as const satisfies AdminOperation;

export const removeEventSubscription = {
  method: "DELETE",
  path: "/event-subscriptions/{event_subscription}",
} as const satisfies AdminOperation;

export const rotateEventSecret = {
  method: "POST",
  path: "/event-subscriptions/{event_subscription}/rotate-secret",
  results: { 200: EventSubscriptionWithSecretShape },
} as const satisfies AdminOperation;

/** The secret before the present one is not valid any more. */
export const revokeOldEventSecret = {
  method: "POST",
  path: "/event-subscriptions/{event_subscription}/revoke-old-secret",
  results: { 200: EventSubscriptionShape },
} as const satisfies AdminOperation;

/** The delivery is named by the invocation that makes it, see the table `sys_event_delivery`. */
export const replayEventDelivery = {
  method: "POST",
  path: "/event-deliveries/{invocation_id}/replay",
  results: { 200: ReplayedDeliveryShape },
} as const satisfies AdminOperation;
