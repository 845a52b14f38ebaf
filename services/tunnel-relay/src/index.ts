/** The relay that tunnel clients of customers connect to, and that forwards requests of runtimes to their private endpoints. */
export { type RelayMetrics, relayMetrics } from "./metrics.js";
export type { RelayListenOptions, RelayOptions, RelayPorts, TunnelRelay } from "./ports.js";
export { createTunnelRelay } from "./relay.js";
