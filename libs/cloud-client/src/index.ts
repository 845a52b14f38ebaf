/** Why: command line, console and tests speak with the Cloud API through this; the server checks by the same shapes. */
export * from "./client.js";
export * from "./oauth.js";
export * from "./operations.js";
export * from "./shapes.js";
