/** Operations on one invocation, as paths and batches name them. */

export const INVOCATION_VERBS = ["cancel", "kill", "pause", "resume", "purge", "purge-journal", "restart-as-new"] as const;
export type InvocationVerb = (typeof INVOCATION_VERBS)[number];

/** Verbs that take a deployment: the others do not continue the invocation. */
export const MOVING_VERBS: ReadonlySet<InvocationVerb> = new Set<InvocationVerb>(["resume", "restart-as-new"]);
