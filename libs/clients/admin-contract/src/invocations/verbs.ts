/** Operations on one invocation, as paths and batches name them. */

export const INVOCATION_VERBS = ["cancel", "kill", "pause", "resume", "purge", "purge-journal", "restart-as-new"] as const;
export type InvocationVerb = (typeof INVOCATION_VERBS)[number];

/** Verbs that take a deployment: the others do not continue the invocation. */
export const MOVING_VERBS: ReadonlySet<InvocationVerb> = new Set<InvocationVerb>(["resume", "restart-as-new"]);

/** Verbs whose effect can be undone for a while. */
export const UNDOABLE_VERBS = [
  "cancel",
  "kill",
  "purge",
  "pause",
  "resume",
  "restart-as-new",
] as const satisfies readonly InvocationVerb[];
export type UndoableVerb = (typeof UNDOABLE_VERBS)[number];
/** Changes of other things than invocations, whose effect can be undone for a while. */
export const UNDOABLE_CHANGES = [
  "edit-state",
  "delete-deployment",
  "delete-subscription",
  "delete-schedule",
  "delete-rules",
  "delete-kafka-cluster",
  "delete-event-subscription",
] as const;
export type UndoableChange = (typeof UNDOABLE_CHANGES)[number];

/** What a batch does: a verb, or undoing an operation. */
export const BATCH_VERBS = [...INVOCATION_VERBS, "undo"] as const;
export type BatchVerb = (typeof BATCH_VERBS)[number];
