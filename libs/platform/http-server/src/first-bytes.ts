/**
 * HTTP/1.1 and HTTP/2 without TLS share one port (ingress.md §1). An HTTP/2 client always begins with the bytes `PRI * HTTP/2.0`, and no
 * HTTP/1.1 method begins with `PRI`, so three bytes decide.
 */

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
