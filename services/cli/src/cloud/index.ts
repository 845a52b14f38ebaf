/** Shared code of commands for the cloud. */
export * from "./accounts.js";
export * from "./environments.js";
export * from "./profile.js";
export * from "./session.js";
