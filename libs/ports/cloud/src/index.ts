/** Defines the model of the cloud (accounts, environments, keys, roles) and the ports between its services. It does no I/O. */
export * from "./api-key.js";
export * from "./cookies.js";
export * from "./credentials.js";
export * from "./environment.js";
export * from "./environment-states.js";
export * from "./ids.js";
export * from "./names.js";
export * from "./network.js";
export * from "./plan.js";
export * from "./provisioner.js";
export * from "./rate-shares.js";
export * from "./roles.js";
export * from "./tenancy.js";
export * from "./usage-totals.js";
