/** Why: the cloud's door. See `gateway.ts` for the way of a request. */
export { EnvironmentPortListeners } from "./environment-ports.js";
export type { GatewayEndpoint } from "./environments.js";
export { createCloudGateway } from "./gateway.js";
export { type GatewayMetrics, gatewayMetrics, observeGateway } from "./metrics.js";
export type { CloudGateway, GatewayOptions, GatewayPorts, ListenOptions, OpenListener } from "./ports.js";
