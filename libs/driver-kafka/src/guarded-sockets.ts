/**
 * Why: brokers name further brokers, wherever they like: each connection of a guarded client is admitted on its own, to those that a
 * user named and to those that were advertised.
 */
import { isIP, Socket, connect as tcpConnect } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { EgressDenied, type EgressGuard } from "@perdure/egress";
import type { ISocketFactory } from "kafkajs";
import { KEEP_ALIVE_MS } from "./limits.js";

/** Sockets as the client makes them itself, to admitted destinations; others fail as a connection would. */
export function guardedSockets(guard: EgressGuard): ISocketFactory {
  return ({ host, port, ssl, onConnect }) => {
    const admission = guard.admitEndpoint(host, port);
    if (admission.kind !== "admitted")
      return failedSocket(
        admission.kind === "denied" ? new EgressDenied() : new Error(`there are too many connections to ${host}`),
      );
    const where = { host: admission.host, port, lookup: admission.lookup };
    const name = isIP(admission.host) === 0 ? { servername: host } : {};
    // The client has no TLS settings for a plain connection, whatever its types say.
    const secure: typeof ssl | undefined = ssl;
    const socket = secure ? tlsConnect({ ...name, ...secure, ...where }, onConnect) : tcpConnect(where, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.once("close", admission.release);
    return socket;
  };
}

/** Connects nowhere, and says why once somebody can listen. */
function failedSocket(error: Error): Socket {
  const socket = new Socket();
  process.nextTick(() => socket.destroy(error));
  return socket;
}
