/**
 * Sockets of a guarded Kafka client. Brokers can advertise any address, so each connection is admitted on its own: to brokers that a user
 * named and to advertised ones.
 */
import { isIP, Socket, connect as tcpConnect } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { EgressDenied, type EgressGuard } from "@perdure/egress";
import type { ISocketFactory } from "kafkajs";
import { KEEP_ALIVE_MS } from "./limits.js";

/** Creates sockets as kafkajs does, for admitted destinations; others fail like a connection that failed. */
export function guardedSockets(guard: EgressGuard): ISocketFactory {
  return ({ host, port, ssl, onConnect }) => {
    const admission = guard.admitEndpoint(host, port);
    if (admission.kind !== "admitted")
      return failedSocket(
        admission.kind === "denied" ? new EgressDenied() : new Error(`there are too many connections to ${host}`),
      );
    const where = { host: admission.host, port, lookup: admission.lookup };
    const name = isIP(admission.host) === 0 ? { servername: host } : {};
    // kafkajs passes no TLS settings for a plain connection, although its type says otherwise.
    const secure: typeof ssl | undefined = ssl;
    const socket = secure ? tlsConnect({ ...name, ...secure, ...where }, onConnect) : tcpConnect(where, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.once("close", admission.release);
    return socket;
  };
}

/** A socket that connects to nothing and emits the error after listeners were added. */
function failedSocket(error: Error): Socket {
  const socket = new Socket();
  process.nextTick(() => socket.destroy(error));
  return socket;
}
