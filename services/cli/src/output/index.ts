/** Why: how commands answer. */
export * from "./format.js";
export * from "./output.js";
export type { Progress } from "./progress.js";
export type { Column } from "./table.js";
