/**
 * Authenticates and limits requests to environments of the cloud and forwards them to the environment's runtime. `gateway.ts` shows how a
 * request is processed.
 */
export { EnvironmentPortListeners } from "./environment-ports.js";
export type { GatewayEndpoint } from "./environments.js";
export { createCloudGateway } from "./gateway.js";
export { type GatewayMetrics, gatewayMetrics, observeGateway } from "./metrics.js";
export type { CloudGateway, GatewayOptions, GatewayPorts, ListenOptions, OpenListener } from "./ports.js";
