/**
 * Why: HTTP/1.1 and HTTP/2 without TLS share one port (ingress.md §1). An HTTP/2 client speaks first and always the same
 * words, `PRI * HTTP/2.0`, and no HTTP/1.1 method begins with `PRI`, so three bytes decide.
 */
import type { Socket } from "node:net";

export type Protocol = "http/1.1" | "h2c";

const PREFACE = [0x50, 0x52, 0x49]; // "PRI"

/** What the first bytes of a connection say; undefined when there are too few of them. */
export function protocolOf(bytes: Uint8Array): Protocol | undefined {
  for (let i = 0; i < PREFACE.length; i++) {
    if (i === bytes.length) return undefined;
    if (bytes[i] !== PREFACE[i]) return "http/1.1";
  }
  return "h2c";
}

/**
 * Waits for the first bytes of a fresh connection and hands it over with those bytes still unread. A connection that
 * stays silent for `timeoutMs` is destroyed.
 */
export function sniffProtocol(socket: Socket, timeoutMs: number, decided: (protocol: Protocol) => void): void {
  let seen: Buffer | undefined;
  const onData = (chunk: Buffer): void => {
    seen = seen === undefined ? chunk : Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === undefined) return;
    socket.off("data", onData);
    socket.off("timeout", onTimeout);
    socket.off("end", onGone);
    socket.off("error", onGone);
    socket.setTimeout(0);
    socket.pause();
    socket.unshift(seen);
    decided(protocol);
    // An HTTP/2 session reads what is buffered by itself and then takes the socket's handle.
    if (protocol === "http/1.1") socket.resume();
  };
  const onTimeout = (): void => {
    socket.destroy();
  };
  const onGone = (): void => {
    socket.destroy(); // It ended or broke before it said anything: there is nobody to tell and nothing to undo.
  };
  socket.on("data", onData);
  socket.on("timeout", onTimeout);
  socket.on("end", onGone);
  socket.on("error", onGone);
  socket.setTimeout(timeoutMs);
}
