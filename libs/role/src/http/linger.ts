/**
 * Why: Node destroys a socket right behind the last byte of an answer that closes the connection. When the client is still
 * sending, the kernel then resets the connection and the client may never see the answer ("413, too large").
 */
import type { Socket } from "node:net";
import type { Clock } from "@perdure/base";

/** Makes the coming end of this connection a half-close; what the client still sends is thrown away for at most `lingerMs`. */
export function lingerBeforeClose(socket: Socket, clock: Clock, lingerMs: number): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = clock.setTimer(lingerMs, () => socket.destroy());
    socket.once("close", () => timer.cancel());
  };
}
