/** Builders and an in-memory partition for tests of and around the core. */
export * from "./builders.js";
export * from "./commands.js";
export * from "./memory-partition.js";
