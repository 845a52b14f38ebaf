/**
 * Bounds how long a half-closed connection stays open. When an HTTP/2 session ends in order (a GOAWAY from either side, no streams left),
 * Node ends its side of the socket, drops the session with all its timers, and waits for the peer to end the other side. A peer that never
 * does would keep the connection for ever.
 */
import type { Clock } from "./clock.js";

/** The part of Node's socket that `boundHalfClose` uses. */
interface EndingSocket {
  readonly destroyed: boolean;
  once(event: "finish" | "close", listener: () => void): unknown;
  destroy(): unknown;
}

/** Gives the peer `lingerMs` to end its side after this side of the socket has ended; then destroys the socket. */
export function boundHalfClose(socket: EndingSocket, clock: Clock, lingerMs: number): void {
  socket.once("finish", () => {
    if (socket.destroyed) return;
    const timer = clock.setTimer(lingerMs, () => socket.destroy());
    socket.once("close", () => timer.cancel());
  });
}
