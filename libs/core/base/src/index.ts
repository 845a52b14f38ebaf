/**
 * Provides ids, hashes, bytes, durations, errors and the interfaces of clock, random numbers and logger to every other package. It does no
 * I/O beyond the system's clock and random numbers, and knows no concept of the domain beyond ids and errors.
 */
export * from "./awakeable-id.js";
export * from "./backoff.js";
export * from "./base62.js";
export * from "./bounded-cache.js";
export type { Brand } from "./brand.js";
export * from "./byte-size.js";
export * from "./bytes.js";
export * from "./cause.js";
export * from "./clock.js";
export * from "./duration.js";
export * from "./error-events.js";
export * from "./errors/catalogue.js";
export * from "./errors/perdure-error.js";
export * from "./half-close.js";
export { hashBucket, hashString } from "./hash.js";
export type {
  AwakeableId,
  BatchId,
  DeploymentId,
  EventSubscriptionId,
  InvocationId,
  OperationId,
  Parsed,
  ScheduleId,
  SubscriptionId,
  VqueueId,
} from "./id-format.js";
export * from "./invariant.js";
export {
  derivedInvocationId,
  INVOCATION_ID_RAW_BYTES,
  idempotentInvocationId,
  invocationIdFromRaw,
  invocationIdToRaw,
  newInvocationId,
  type PreferredPartitions,
  parseInvocationId,
  partitionKeyOf,
  partitionOf,
  partitionOfKey,
  randomSeedOf,
  siblingInvocationId,
  workflowInvocationId,
} from "./invocation-id.js";
export * from "./json.js";
export * from "./loading-cache.js";
export * from "./logger.js";
export * from "./operation.js";
export * from "./pacing.js";
export * from "./partition-subset.js";
export * from "./pause.js";
export * from "./proto-reader.js";
export * from "./proto-writer.js";
export * from "./random.js";
export * from "./rate-limiter.js";
export { NO_COMMIT } from "./readiness.js";
export { isRedactedUrl, redactUrl, redactUrlParts } from "./redact-url.js";
export * from "./repeated-task.js";
export {
  newBatchId,
  newDeploymentId,
  newEventSubscriptionId,
  newOperationId,
  newScheduleId,
  newSubscriptionId,
  parseBatchId,
  parseDeploymentId,
  parseEventSubscriptionId,
  parseOperationId,
  parseScheduleId,
  parseSubscriptionId,
} from "./resource-id.js";
export * from "./ring.js";
export * from "./scope-syntax.js";
export * from "./secret.js";
export { siphash13 } from "./siphash13.js";
export { allocateBytes } from "./slab.js";
export * from "./stop-signals.js";
export * from "./summary-log.js";
export * from "./thread-shares.js";
export * from "./time.js";
export * from "./vqueue-id.js";
