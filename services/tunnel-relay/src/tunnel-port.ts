/**
 * The listener for tunnel clients: each socket has five seconds for its handshake, and each network has a rate of handshakes, since a
 * handshake costs a TLS exchange and a request to tenancy before the client is authenticated (T26).
 */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { type Clock, handleErrors, type Logger, type RateLimiter } from "@perdure/base";
import { networkOf } from "@perdure/cloud";
import { bindTo, boundHandshakes, renewCertificate, tlsOptions } from "@perdure/http-server";
import { HANDSHAKE_MS, HANDSHAKES_MAX } from "./limits.js";
import type { RelayListenOptions } from "./ports.js";

export interface TunnelPort {
  readonly address: AddressInfo;
  /** Accepts no new connections. */
  stop(): void;
  /** Destroys sockets in a handshake; resolves when the port is free. */
  close(): Promise<void>;
}

interface TunnelPortPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Handshakes, by network. */
  readonly rate: RateLimiter<string>;
  /** Called for each socket that the rate or the bound of handshakes refused. */
  readonly throttled: () => void;
  /** Resolves when the handshake is over, successful or not. Must not reject. */
  readonly greet: (socket: Socket) => Promise<void>;
}

/** Rejects with RT0004. */
export async function openTunnelPort(
  { host, port, certificates }: RelayListenOptions,
  { clock, logger, rate, throttled, greet }: TunnelPortPorts,
): Promise<TunnelPort> {
  /** Sockets in a handshake. */
  const pendingSockets = new Set<Socket>();
  const admit = (socket: Socket): boolean => {
    handleErrors(socket, () => socket.destroy());
    if (pendingSockets.size < HANDSHAKES_MAX && rate.take(networkOf(socket.remoteAddress)).kind === "allowed") return true;
    throttled();
    socket.destroy();
    return false;
  };
  const accept = (socket: Socket): void => {
    handleErrors(socket, () => socket.destroy());
    pendingSockets.add(socket);
    socket.once("close", () => pendingSockets.delete(socket));
    socket.setNoDelay(true);
    void greet(socket).then(() => pendingSockets.delete(socket));
  };
  const server =
    certificates === undefined
      ? createServer((socket) => {
          handleErrors(socket);
          if (admit(socket)) accept(socket);
        })
      : createTlsServer({ ...tlsOptions(certificates, HANDSHAKE_MS), ALPNProtocols: ["h2"] }, accept);
  if (certificates !== undefined && "setSecureContext" in server) {
    // Before TLS begins, so that refused sockets cost no TLS handshake.
    server.prependListener("connection", admit);
    boundHandshakes(server, clock, HANDSHAKE_MS);
    renewCertificate(server, certificates, logger);
  }
  const address = await bindTo(server, host === undefined ? { port } : { host, port }, logger);
  let isStopped = false;
  const stopped = Promise.withResolvers<void>();
  const stop = (): void => {
    if (isStopped) return;
    isStopped = true;
    server.close(() => stopped.resolve());
  };
  return {
    address,
    stop,
    async close() {
      stop();
      for (const socket of pendingSockets) socket.destroy();
      await stopped.promise;
    },
  };
}
