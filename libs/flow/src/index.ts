export * from "./rows.js";
export * from "./rule.js";
