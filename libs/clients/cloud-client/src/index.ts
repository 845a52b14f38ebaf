/** Client of the Cloud API for command line, console and tests. The server validates with the same shapes. */
export * from "./client.js";
export * from "./oauth.js";
export * from "./operations.js";
export * from "./shapes.js";
