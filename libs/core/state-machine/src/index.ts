/** Applies commands to the state of one partition, as a pure function that returns mutations and effects. */
export { PRIORITY_DEFAULT } from "@perdure/flow-control";
export { apply } from "./apply.js";
export * from "./command.js";
export * from "./effect.js";
export * from "./entry.js";
export { DELIVERY_RETENTION_MS, deliveryOf, type EncodedEvent, encodeEvent } from "./event/delivery.js";
export * from "./event/subscription.js";
export { waitsForSlot } from "./flow/admit.js";
export { queueOfLock, queueOfScope, routeOfQueue } from "./flow/queue.js";
export { brokenInvariants, type PartitionSnapshot } from "./invariants.js";
export { DEBOUNCE_SERVICE, DEBOUNCE_STATE_KEY, debounceRowKey } from "./invocation/debounce.js";
export { MOVES_KEPT_MAX, type Move, type MoveState, movesOf, resumptionsIn, runningSinceMs } from "./invocation/moves.js";
export { copyPrefix } from "./invocation/restart.js";
export {
  decodeThrottlePeriod,
  isThrottleTimer,
  THROTTLE_KEY_COUNT,
  THROTTLE_KEYS_MAX,
  THROTTLE_SERVICE,
  THROTTLE_STATE_KEY,
  type ThrottlePeriod,
  throttleRowId,
} from "./invocation/throttle.js";
export * from "./invocation.js";
export { randomSeedFor } from "./journal/completions.js";
export * from "./mutation.js";
export {
  decodeStateExpiry,
  OWN_TTL_SERVICES_KEY,
  type ServiceTtl,
  STATE_EXPIRY_ROW,
  STATE_TTL_SERVICE,
  type StateExpiry,
  type StateTtls,
  stateExpiryId,
  stateTimer,
} from "./state/expiry.js";
export { stateVersion } from "./state/replace.js";
export * from "./target.js";
export * from "./transition.js";
export type { ChangedEntry, NewUndoNote, StateEditRecord, UndoNote, UndoRecord, UndoRows } from "./undo/rows.js";
export * from "./view.js";
