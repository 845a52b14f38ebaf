export * from "./attempts.js";
export * from "./egress.js";
export * from "./endpoints.js";
export * from "./listener.js";
export * from "./process.js";
export * from "./trusted-proxies.js";
export * from "./tunnels.js";
