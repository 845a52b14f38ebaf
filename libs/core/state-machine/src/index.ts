/** Applies commands to the state of one partition, as a pure function that returns mutations and effects. */
export { PRIORITY_DEFAULT } from "@perdure/flow-control";
export { apply } from "./apply.js";
export * from "./command.js";
export * from "./effect.js";
export * from "./entry.js";
export { waitsForSlot } from "./flow/admit.js";
export { queueOfLock, queueOfScope, routeOfQueue } from "./flow/queue.js";
export { brokenInvariants, type PartitionSnapshot } from "./invariants.js";
export { DEBOUNCE_SERVICE, DEBOUNCE_STATE_KEY, debounceRowKey } from "./invocation/debounce.js";
export { MOVES_KEPT_MAX, type Move, type MoveState, movesOf, resumptionsIn, runningSinceMs } from "./invocation/moves.js";
export { copyPrefix } from "./invocation/restart.js";
export * from "./invocation.js";
export { randomSeedFor } from "./journal/completions.js";
export * from "./mutation.js";
export { stateVersion } from "./state/replace.js";
export * from "./target.js";
export * from "./transition.js";
export * from "./view.js";
