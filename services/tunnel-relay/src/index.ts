/** Where customers' tunnel clients dial in, and calls of runtimes to their private endpoints go out. */
export { type RelayMetrics, relayMetrics } from "./metrics.js";
export type { RelayListenOptions, RelayOptions, RelayPorts, TunnelRelay } from "./ports.js";
export { createTunnelRelay } from "./relay.js";
