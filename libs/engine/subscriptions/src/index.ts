/** Turns each record of a subscribed topic into exactly one invocation. */
export { invocationOfRecord, PoisonRecord, producerOf } from "./invocation-of-record.js";
export * from "./ports.js";
export {
  createSubscriptions,
  runSubscriptions,
  type StuckRecord,
  type SubscriptionStatus,
  type Subscriptions,
} from "./subscriptions.js";
