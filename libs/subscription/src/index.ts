export { invocationOfRecord, PoisonRecord, producerOf } from "./invocation-of-record.js";
export * from "./ports.js";
export {
  runSubscriptions,
  type StuckRecord,
  type SubscriptionStatus,
  type Subscriptions,
  type SubscriptionsPorts,
} from "./subscriptions.js";
