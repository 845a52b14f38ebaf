/** Explains what an invocation waits for and how its time was spent. */
export * from "./awaiting.js";
export * from "./explain.js";
export type * from "./facts.js";
export * from "./limits.js";
export * from "./sentence.js";
export * from "./steps.js";
export * from "./timeline.js";
export * from "./wait.js";
