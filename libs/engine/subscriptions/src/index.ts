/** Turns each record of a subscribed topic into exactly one invocation. */
export { invocationOfRecord, PoisonRecord, producerOf } from "./invocation-of-record.js";
export * from "./ports.js";
export {
  type RecordCounts,
  runSubscriptions,
  type StuckRecord,
  type SubscriptionStatus,
  type Subscriptions,
  type SubscriptionsPorts,
} from "./subscriptions.js";
