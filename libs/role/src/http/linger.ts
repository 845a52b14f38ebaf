/**
 * Why: Node destroys a socket right behind the last byte of an answer that closes the connection. When the client is still
 * sending, the kernel then resets the connection and the client may never see the answer ("413, too large").
 */
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
