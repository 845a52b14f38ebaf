/**
 * Conversions of bytes. Bytes are `Uint8Array` in every signature of the project; this is one of the few files that use `Buffer` to move
 * between bytes and text, because its native paths beat the Web API on short inputs (figures in `bench/proto.bench.ts`).
 */
import { TEXT_SCRATCH_BYTES } from "./limits.js";
import { allocateBytes } from "./slab.js";

/** The shared empty array. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
const encoder = new TextEncoder();
const scratch = Buffer.allocUnsafeSlow(TEXT_SCRATCH_BYTES);

declare global {
  interface Buffer {
    /** Text of the bytes `start`…`end`. The type declarations of Node lack it. */
    utf8Slice(this: Uint8Array, start: number, end: number): string;
  }
}

/** Works on any `Uint8Array`, in half the time of `TextDecoder`. */
const { utf8Slice } = Buffer.prototype;

/** The UTF-8 encoding of `text`; lone surrogates become U+FFFD. The caller owns the memory (see `allocateBytes`). */
export function utf8(text: string): Uint8Array {
  if (text.length === 0) return EMPTY_BYTES;
  if (text.length * 3 > TEXT_SCRATCH_BYTES) return encoder.encode(text);
  return copyBytes(scratch, 0, scratch.write(text, 0, "utf8"));
}

/** Text of UTF-8 bytes; malformed sequences become U+FFFD, a byte order mark stays. */
export function fromUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Text of the UTF-8 bytes `start`…`end` of `bytes`, or `undefined` when they are malformed. */
export function fromUtf8Strict(bytes: Uint8Array, start = 0, end: number = bytes.length): string | undefined {
  const text = utf8Slice.call(bytes, start, end);
  if (!text.includes("\uFFFD")) return text;
  // The replacement character was either in the bytes or stands for a malformed sequence; only the strict decoder distinguishes the two.
  try {
    return strictDecoder.decode(bytes.subarray(start, end));
  } catch {
    return undefined; // The decoder's only error is "not UTF-8", for which `undefined` is the result.
  }
}

/**
 * A copy of the bytes `start`…`end` in memory that the caller owns (see `allocateBytes`): for small pieces of a large buffer that are kept.
 */
export function copyBytes(bytes: Uint8Array, start = 0, end: number = bytes.length): Uint8Array {
  const copy = allocateBytes(end - start);
  copy.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
  return copy;
}

/** All parts in order, in one array that the caller owns (see `allocateBytes`). */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const part of parts) size += part.length;
  const whole = allocateBytes(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Whether length and content are equal. Not constant-time: compare secrets with `timingSafeEqual`. */
export function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** Order by unsigned byte values, a prefix before its extensions: the order in which stores keep their keys. −1, 0 or 1. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** One character (U+0000…U+00FF) for each byte; the order of such strings is the order of their bytes. */
export function toBinaryString(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("latin1");
}

/** Reverse of `toBinaryString`. Every character must be below U+0100; others lose their high bits. */
export function fromBinaryString(text: string): Uint8Array {
  const bytes = allocateBytes(text.length);
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
  return new Uint8Array(Buffer.from(text, "hex"));
}

/** Bytes of base64 with or without padding. Characters outside the alphabet are skipped, so check first where that matters. */
export function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}

/** A Buffer over the same memory. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
