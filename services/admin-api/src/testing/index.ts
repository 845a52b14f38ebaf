/** Why: whoever tests against the management API needs partitions that answer as told, and a server around the handler. */

export * from "./invocations.js";
export * from "./scripted-partitions.js";
export * from "./setup.js";
export * from "./test-server.js";
