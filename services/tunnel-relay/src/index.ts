/** Accepts tunnel clients of customers and forwards requests of runtimes to their private endpoints. */
export { type RelayMetrics, relayMetrics } from "./metrics.js";
export type { RelayListenOptions, RelayOptions, RelayPorts, TunnelRelay } from "./ports.js";
export { createTunnelRelay } from "./relay.js";
