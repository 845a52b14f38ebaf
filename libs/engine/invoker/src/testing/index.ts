/** Builders and fakes for tests of and around the invoker. */
export * from "./builders.js";
export * from "./fake-partition.js";
