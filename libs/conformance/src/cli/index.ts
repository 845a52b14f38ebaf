/** Why: everything that drives the official command line against a running server, and compares what it says. */
export * from "./cli.js";
export * from "./guarded-listener.js";
export * from "./normal.js";
export * from "./recording.js";
export * from "./scenario.js";
