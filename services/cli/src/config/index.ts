/** Files on this machine: profiles shared with the official command line, and our own credentials. */
export * from "./credentials-store.js";
export * from "./official-config.js";
export * from "./paths.js";
