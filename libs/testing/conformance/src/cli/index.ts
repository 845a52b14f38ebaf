/** Runs the official CLI against a server and compares its output with recordings. */
export * from "./cli.js";
export * from "./guarded-listener.js";
export * from "./normal.js";
export * from "./recording.js";
export * from "./scenario.js";
