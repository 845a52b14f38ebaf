/**
 * Why: ids are written in base 62 with a byte-order trap (service-protocol.md §10.2): the big-endian bytes of the value
 * are taken as a *little-endian* integer, which is written in base 62 and padded with `0`. Every request makes or reads
 * several ids, so the arithmetic is on 32-bit limbs in doubles; BigInt would cost several times as much.
 */
const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** 62³: three digits at a time. A remainder below it, shifted by 32 bits, stays far below 2⁵³, so double division is exact. */
const THREE_DIGITS = 238_328;

/** Characters of a 64-bit and a 128-bit value. */
export const BASE62_CHARS_64 = 11;
export const BASE62_CHARS_128 = 22;

const CHAR_OF_DIGIT = new Uint8Array(62);
const DIGIT_OF_CHAR = new Uint8Array(256).fill(255);
for (let digit = 0; digit < 62; digit++) {
  const char = ALPHABET.charCodeAt(digit);
  CHAR_OF_DIGIT[digit] = char;
  DIGIT_OF_CHAR[char] = digit;
}

/** Scratch: limbs of the number at work, least significant first. Functions here never call each other's users, so one is enough. */
const limbs = new Uint32Array(4);

/**
 * Writes `width` base-62 characters (as ASCII codes) of the `size` bytes (8 or 16) at `from` into `out` at `at`.
 * Width is 11 for 8 bytes and 22 for 16.
 */
export function encodeBase62(bytes: Uint8Array, from: number, size: 8 | 16, out: Uint8Array, at: number): void {
  let used = size >> 2;
  for (let i = 0; i < used; i++) {
    const p = from + 4 * i;
    limbs[i] = bytes[p]! | (bytes[p + 1]! << 8) | (bytes[p + 2]! << 16) | (bytes[p + 3]! << 24);
  }
  let end = at + (size === 8 ? BASE62_CHARS_64 : BASE62_CHARS_128);
  while (end > at) {
    let remainder = 0;
    for (let i = used - 1; i >= 0; i--) {
      const dividend = remainder * 4_294_967_296 + limbs[i]!;
      const quotient = Math.floor(dividend / THREE_DIGITS);
      limbs[i] = quotient;
      remainder = dividend - quotient * THREE_DIGITS;
    }
    if (used > 0 && limbs[used - 1] === 0) used--;
    for (let digits = 0; digits < 3 && end > at; digits++) {
      const rest = (remainder / 62) | 0;
      out[--end] = CHAR_OF_DIGIT[remainder - rest * 62]!;
      remainder = rest;
    }
  }
}

/**
 * Reads `size` bytes (8 or 16) from the 11 or 22 characters of `text` at `from` into `out` at `at`.
 * False when a character is not of the alphabet or the number does not fit; `out` is then unspecified.
 */
export function decodeBase62(text: string, from: number, size: 8 | 16, out: Uint8Array, at: number): boolean {
  const count = size >> 2;
  const width = size === 8 ? BASE62_CHARS_64 : BASE62_CHARS_128;
  limbs.fill(0);
  let taken = 0;
  while (taken < width) {
    let chunk = 0;
    let scale = 1;
    const stop = Math.min(width, taken + 3);
    for (; taken < stop; taken++) {
      const char = text.charCodeAt(from + taken);
      const digit = char < 256 ? DIGIT_OF_CHAR[char]! : 255;
      if (digit === 255) return false;
      chunk = chunk * 62 + digit;
      scale *= 62;
    }
    let carry = chunk;
    for (let i = 0; i < count; i++) {
      const product = limbs[i]! * scale + carry;
      carry = Math.floor(product / 4_294_967_296);
      limbs[i] = product - carry * 4_294_967_296;
    }
    if (carry !== 0) return false;
  }
  for (let i = 0; i < count; i++) {
    const limb = limbs[i]!;
    const p = at + 4 * i;
    out[p] = limb;
    out[p + 1] = limb >>> 8;
    out[p + 2] = limb >>> 16;
    out[p + 3] = limb >>> 24;
  }
  return true;
}
