/** Connects endpoints behind tunnels: addresses and handshake, the client that connects to a relay, and the transport of runtimes. */
export * from "./address.js";
export { breakOff, closeUnwritten } from "./break-off.js";
export type { OnTunnelEvent, TunnelClientEvent } from "./client/events.js";
export { openTunnel } from "./client/open-tunnel.js";
export type { ClientTunnel, SrvRecord, TunnelEnding, TunnelLocal, TunnelOptions, TunnelReady } from "./client/options.js";
export { openRemotePort, type RemotePort, type RemotePortEvent } from "./client/remote-port.js";
export { parseServer, type RelayServer } from "./client/servers.js";
export * from "./destination.js";
export * from "./handshake.js";
export * from "./http-headers.js";
export * from "./identity.js";
export * from "./name.js";
export * from "./routes.js";
export { createTunnelTransport } from "./transport.js";
