/**
 * Lets a client read the answer that closes its connection. Node destroys the socket right behind the last byte; when the client is still
 * sending, the kernel then resets the connection, and the client may never see the answer ("413, too large"). A client that never stops
 * sending is cut off after a time limit.
 */
import type { IncomingMessage } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "@perdure/base";

const leaving = new WeakSet<Socket>();

/** Whether its last answer has been decided: what else comes on it is not to be served. */
export function isLeaving(socket: Socket): boolean {
  return leaving.has(socket);
}

/** Makes the coming end of this connection a half-close; what the client still sends is thrown away for at most `lingerMs`. */
export function lingerBeforeClose(socket: Socket, clock: Clock, lingerMs: number): void {
  leaving.add(socket);
  socket.destroySoon = () => {
    socket.end();
    const timer = clock.setTimer(lingerMs, () => socket.destroy());
    socket.once("close", () => timer.cancel());
  };
}

/**
 * The answer to this request has been sent. The rest of its body may still come for `lingerMs`, so that the connection can serve the next
 * request; then the connection is cut, whatever still comes.
 */
export function boundRestOfBody(req: IncomingMessage, clock: Clock, lingerMs: number): void {
  const { socket } = req;
  if (req.complete || socket.destroyed) return;
  const timer = clock.setTimer(lingerMs, () => {
    if (!req.complete) socket.destroy();
  });
  req.once("close", () => timer.cancel());
}

/**
 * The same for a stream of HTTP/2 whose answer is complete. Bytes that still arrive are discarded for `lingerMs`, because clients may fail
 * on a reset before they have read the answer; then the stream is reset without an error (RFC 9113 §8.1).
 */
export function boundRestOfStream(stream: ServerHttp2Stream, clock: Clock, lingerMs: number): void {
  if (stream.readableEnded || stream.destroyed) return;
  stream.resume();
  const timer = clock.setTimer(lingerMs, () => stream.close(constants.NGHTTP2_NO_ERROR));
  stream.once("close", () => timer.cancel());
}
