/** What an invocation waits for and where its time went, as functions of stored and in-memory state. */
export * from "./awaiting.js";
export * from "./explain.js";
export type * from "./facts.js";
export * from "./limits.js";
export * from "./sentence.js";
export * from "./steps.js";
export * from "./timeline.js";
export * from "./wait.js";
