/**
 * Why: bytes are `Uint8Array` in every signature of the project; this is the one place that uses `Buffer` to move
 * between bytes and text, because its native paths beat the Web API by far on short inputs.
 */

/** The one empty array; never written to. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/** The UTF-8 encoding of `text` in fresh memory of its own; lone surrogates become U+FFFD. */
export function utf8(text: string): Uint8Array {
  const shared = Buffer.from(text, "utf8");
  // Small Buffers are slices of a pool; a slice kept for long would pin the pool.
  return shared.buffer.byteLength === shared.byteLength ? asPlain(shared) : Uint8Array.prototype.slice.call(shared);
}

/** Text of UTF-8 bytes; malformed sequences become U+FFFD. */
export function fromUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Text of UTF-8 bytes, or `undefined` when they are not well-formed UTF-8. */
export function fromUtf8Strict(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return undefined; // The decoder's only error is "not UTF-8", which is what undefined says.
  }
}

/** One fresh array with all parts in order. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const part of parts) size += part.length;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Same length and content. Not constant-time: compare secrets with `timingSafeEqual`. */
export function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** Order by unsigned byte values, shorter first on a common prefix: the order in which stores keep their keys. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** One character (U+0000…U+00FF) for each byte; string order is byte order. */
export function toBinaryString(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("latin1");
}

/** Reverse of `toBinaryString`, in fresh memory; every character must be below U+0100 (others lose their high bits). */
export function fromBinaryString(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("hex");
}

/** Bytes of an even number of hex digits, or `undefined` for any other text. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return undefined;
  return Uint8Array.prototype.slice.call(Buffer.from(text, "hex"));
}

/** The same memory seen as a Buffer. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function asPlain(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
