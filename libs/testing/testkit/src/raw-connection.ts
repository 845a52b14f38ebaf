/** Tests of listeners send bytes that no library would send, and wait only for what the listener does with the connection. */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Sends the segments to 127.0.0.1, one write and one turn of the event loop for each, then ends its side and resolves when the
 * connection is closed: by the listener, or because both sides have ended it. Errors of the socket count as its end.
 */
export async function sendSegments(port: number, segments: readonly Uint8Array[]): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => undefined);
  socket.resume();
  await once(socket, "connect");
  const closed = once(socket, "close");
  for (const segment of segments) {
    socket.write(segment);
    await new Promise(setImmediate);
  }
  socket.end();
  await closed;
}

/** Time in which sockets of this process read pending data. */
const ROUND_MS = 2;

/**
 * Sends the bytes to 127.0.0.1 and waits until the listener has ended its side. This side never ends: in each round it sends a byte, and
 * calls `round`, which moves a virtual clock. Resolves with the number of rounds until the connection is gone, `undefined` after `roundsMax`.
 */
export async function roundsUntilGone(
  port: number,
  bytes: Uint8Array,
  round: () => void,
  roundsMax: number,
): Promise<number | undefined> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  socket.on("error", () => undefined);
  socket.resume();
  const ended = once(socket, "end");
  socket.write(bytes);
  await ended;
  for (let count = 0; count < roundsMax; count++) {
    if (socket.destroyed) return count;
    round();
    socket.write("x");
    await delay(ROUND_MS);
  }
  socket.destroy();
  return undefined;
}
