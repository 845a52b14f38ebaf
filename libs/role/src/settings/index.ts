export * from "./attempts.js";
export * from "./door.js";
export * from "./endpoints.js";
export * from "./process.js";
