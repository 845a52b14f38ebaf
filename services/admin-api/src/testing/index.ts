/** Helpers for tests against the management API: scripted partitions, and a server around the handler. */

export * from "./invocations.js";
export * from "./scripted-partitions.js";
export * from "./setup.js";
export * from "./test-server.js";
