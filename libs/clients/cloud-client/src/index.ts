/** Defines the shapes of the Cloud API and calls it with typed methods. The server validates with the same shapes. */
export * from "./client.js";
export * from "./oauth.js";
export * from "./operations.js";
export * from "./shapes.js";
