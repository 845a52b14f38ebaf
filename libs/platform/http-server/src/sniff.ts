/** Decides the protocol of a fresh connection by its first bytes. */
import type { Socket } from "node:net";
import { afterReading } from "./after-reading.js";
import { type Protocol, protocolOf, withEncodedTarget } from "./first-bytes.js";

/**
 * Waits for the first bytes of a fresh connection and hands it over with those bytes still unread, but for `withEncodedTarget`. A connection that
 * stays silent for `timeoutMs` is destroyed; time in which this process did not read does not count.
 */
export function sniffProtocol(socket: Socket, timeoutMs: number, decided: (protocol: Protocol) => void): void {
  let received: Buffer | undefined;
  const onData = (chunk: Buffer): void => {
    received = received === undefined ? chunk : Buffer.concat([received, chunk]);
    const protocol = protocolOf(received);
    if (protocol === undefined) return;
    isDecided = true;
    socket.off("data", onData);
    socket.off("timeout", onTimeout);
    socket.off("end", onGone);
    socket.off("error", onGone);
    socket.setTimeout(0);
    socket.pause();
    socket.unshift(protocol === "http/1.1" ? withEncodedTarget(received) : received);
    decided(protocol);
    // An HTTP/2 session reads what is buffered by itself and then takes the socket's handle.
    if (protocol === "http/1.1") socket.resume();
  };
  let isDecided = false;
  const onTimeout = (): void => {
    afterReading(() => {
      if (!isDecided) socket.destroy();
    });
  };
  const onGone = (): void => {
    socket.destroy(); // The connection ended or broke before its first bytes: there is no client to answer.
  };
  socket.on("data", onData);
  socket.on("timeout", onTimeout);
  socket.on("end", onGone);
  socket.on("error", onGone);
  socket.setTimeout(timeoutMs);
}
