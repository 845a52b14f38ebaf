/** Why: tests of what listens send bytes as no library would, and wait only for what the listener does with the connection. */
import { once } from "node:events";
import { connect } from "node:net";

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
