/** Why: builders, handlers to aim at, and partitions that do as told, for tests of schedules here and in other packages. */
export * from "./builders.js";
export * from "./fake-partitions.js";
export * from "./registry.js";
