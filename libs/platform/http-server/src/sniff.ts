/**
 * HTTP/1.1 and HTTP/2 without TLS share one port (ingress.md §1). An HTTP/2 client always begins with the bytes `PRI * HTTP/2.0`, and no
 * HTTP/1.1 method begins with `PRI`, so three bytes decide.
 */
import type { Socket } from "node:net";
import { afterReading } from "./after-reading.js";

export type Protocol = "http/1.1" | "h2c";

const PREFACE = [0x50, 0x52, 0x49]; // "PRI"

/** The protocol of the first bytes of a connection; undefined when there are too few of them. */
export function protocolOf(bytes: Uint8Array): Protocol | undefined {
  for (let i = 0; i < PREFACE.length; i++) {
    if (i === bytes.length) return undefined;
    if (bytes[i] !== PREFACE[i]) return "http/1.1";
  }
  return "h2c";
}

const NEWLINE = 10;
const REQUEST_LINE = /^[A-Z]+ \/[^ ]* HTTP\/1\.[01]\r$/;

/**
 * The same bytes with a plain target in the first line. curl sends a path as it was typed, in UTF-8; Node's parser refuses that, the
 * reference accepts it (ingress.md §2). Only the first request of a connection is checked, and only when its line came in one piece:
 * clients that send more requests over one connection are libraries, which encode the path themselves (RFC 3986 §2.5).
 */
export function withEncodedTarget(bytes: Buffer): Buffer {
  const end = bytes.indexOf(NEWLINE);
  if (end < 0 || isAscii(bytes, end)) return bytes;
  const line = bytes.toString("latin1", 0, end);
  if (!REQUEST_LINE.test(line)) return bytes;
  const encoded = line.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  return Buffer.concat([Buffer.from(encoded, "latin1"), bytes.subarray(end)]);
}

function isAscii(bytes: Buffer, end: number): boolean {
  for (let at = 0; at < end; at++) {
    if (bytes[at]! > 0x7f) return false;
  }
  return true;
}

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
