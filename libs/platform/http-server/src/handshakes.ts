/**
 * A TLS handshake has a few seconds, not counting time in which this process itself stood still. Node's own timer fires before the bytes
 * that arrived meanwhile are read, and would end every handshake that is under way after a long stall. A handshake takes several turns of
 * the event loop, so here the timeout is counted in steps, and a stall of any length is one step.
 */
import type { Socket } from "node:net";
import type { Server } from "node:tls";
import { type Clock, handleErrors } from "@perdure/base";
import { afterReading } from "./after-reading.js";

/** Steps per timeout: a connection is cut at most this share of it late. */
const STEPS = 10;

interface Handshake {
  readonly socket: Socket;
  stepsLeft: number;
}

/** Handshakes that are not complete. */
export interface Handshakes {
  /** Ends their connections. */
  cut(): void;
}

/** Ends connections of a server whose handshake is not complete after `timeoutMs`. Node's `handshakeTimeout` should be several times longer. */
export function boundHandshakes(server: Server, clock: Clock, timeoutMs: number): Handshakes {
  /** Waiting handshakes by the address and port of the client, the only key that both events of a handshake share. */
  const waiting = new Map<string, Handshake>();
  let isStepping = false;
  const step = (): void => {
    for (const [peer, handshake] of waiting) {
      if (--handshake.stepsLeft > 0) continue;
      afterReading(() => {
        if (waiting.get(peer) === handshake) handshake.socket.destroy();
      });
    }
    isStepping = waiting.size > 0;
    if (isStepping) clock.setTimer(timeoutMs / STEPS, step);
  };
  server.on("connection", (socket: Socket) => {
    handleErrors(socket);
    const peer = peerOf(socket);
    const handshake = { socket, stepsLeft: STEPS + 1 }; // The first step may be over at once.
    waiting.set(peer, handshake);
    socket.once("close", () => {
      if (waiting.get(peer) === handshake) waiting.delete(peer);
    });
    if (!isStepping) clock.setTimer(timeoutMs / STEPS, step);
    isStepping = true;
  });
  server.prependListener("secureConnection", (socket) => {
    handleErrors(socket);
    waiting.delete(peerOf(socket));
  });
  return {
    cut() {
      for (const { socket } of waiting.values()) socket.destroy();
    },
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
