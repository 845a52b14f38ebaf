/** Defines the ports between roles: registry, partitions and delivery of messages. */
export * from "./courier.js";
export * from "./partitions.js";
export * from "./registry.js";
export * from "./unchanged.js";
