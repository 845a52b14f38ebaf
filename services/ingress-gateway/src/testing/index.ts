export * from "./partitions.js";
export * from "./registry.js";
