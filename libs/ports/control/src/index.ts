export * from "./courier.js";
export * from "./partitions.js";
export * from "./registry.js";
