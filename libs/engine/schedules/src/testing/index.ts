/** Builders, target handlers and scripted partitions, for tests of schedules here and in other packages. */
export * from "./builders.js";
export * from "./fake-partitions.js";
export * from "./registry.js";
