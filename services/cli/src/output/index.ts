/** Output of commands. */
export { terminalJson, withoutControls } from "./controls.js";
export * from "./format.js";
export * from "./output.js";
export type { ProgressIndicator } from "./progress.js";
