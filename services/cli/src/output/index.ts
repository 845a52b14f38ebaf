/** Why: how commands answer. */
export { terminalJson, withoutControls } from "./controls.js";
export * from "./format.js";
export * from "./output.js";
export type { Progress } from "./progress.js";
export type { Column } from "./table.js";
