export * from "./command.js";
export * from "./effect.js";
export * from "./entry.js";
export * from "./invocation.js";
export * from "./mutation.js";
export * from "./target.js";
export * from "./transition.js";
export * from "./view.js";
