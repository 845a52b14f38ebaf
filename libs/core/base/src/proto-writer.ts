/**
 * Writer of protobuf wire format for the hand-written codecs of the project; a generated codec builds an object tree first and costs
 * several times as much. Fields are written in the order of the calls, defaults included: leaving out a default is the caller's decision.
 */
import { copyBytes } from "./bytes.js";
import { InvariantError, invariant } from "./invariant.js";
import { WRITER_DEPTH_MAX, WRITER_INITIAL_BYTES, WRITER_KEPT_BYTES_MAX, WRITER_REFERRED_BYTES_MIN } from "./limits.js";
import { allocateBytes } from "./slab.js";

/** Strings up to this length are tried as ASCII in JavaScript: below it a call into the native encoder (50 ns) costs more than the loop. */
const SHORT_STRING_CHARS = 12;
const TWO_32 = 4_294_967_296;

/** A large value and its position in the buffer. */
interface ReferredValue {
  at: number;
  readonly value: Uint8Array;
}

/**
 * Growable, reusable buffer of wire format. `reset()` between messages keeps the memory. Large values are referenced, not copied, until the
 * message is finished, and must not change before.
 */
export class ProtoWriter {
  #buf: Buffer = Buffer.allocUnsafeSlow(WRITER_INITIAL_BYTES);
  #pos = 0;
  readonly #forks: number[] = [];
  #referred: ReferredValue[] = [];
  #referredBytes = 0;

  /** Bytes written so far. */
  get size(): number {
    return this.#pos + this.#referredBytes;
  }

  /** Starts over with an empty message. */
  reset(): this {
    this.#pos = 0;
    this.#forks.length = 0;
    this.#clearReferences();
    if (this.#buf.length > WRITER_KEPT_BYTES_MAX) this.#buf = Buffer.allocUnsafeSlow(WRITER_INITIAL_BYTES);
    return this;
  }

  /** `n` in 0…2³²−1. */
  uint32(field: number, n: number): this {
    this.#reserve(10);
    this.#varint32((field << 3) >>> 0);
    this.#varint32(n);
    return this;
  }

  /** `n` a safe integer ≥ 0, or a bigint in 0…2⁶⁴−1. */
  uint64(field: number, n: number | bigint): this {
    this.#reserve(15);
    this.#varint32((field << 3) >>> 0);
    if (typeof n === "bigint") this.#varint64(Number(n & 0xffff_ffffn), Number((n >> 32n) & 0xffff_ffffn));
    else if (n < TWO_32) this.#varint32(n);
    else this.#varint64(n % TWO_32, Math.floor(n / TWO_32));
    return this;
  }

  bool(field: number, value: boolean): this {
    this.#reserve(6);
    this.#varint32((field << 3) >>> 0);
    this.#buf[this.#pos++] = value ? 1 : 0;
    return this;
  }

  /** UTF-8; lone surrogates become U+FFFD. */
  string(field: number, text: string): this {
    const chars = text.length;
    this.#reserve(10 + chars * 3);
    this.#varint32(((field << 3) | 2) >>> 0);
    if (chars <= SHORT_STRING_CHARS && this.#shortAscii(text, chars)) return this;
    this.#longString(text, chars);
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    if (value.length >= WRITER_REFERRED_BYTES_MIN) return this.#refer(field, value);
    this.#reserve(10 + value.length);
    this.#varint32(((field << 3) | 2) >>> 0);
    this.#varint32(value.length);
    this.#buf.set(value, this.#pos);
    this.#pos += value.length;
    return this;
  }

  /** Writes tag and length of a field whose `length` bytes the caller sends elsewhere. */
  bytesHead(field: number, length: number): this {
    this.#reserve(10);
    this.#varint32(((field << 3) | 2) >>> 0);
    this.#varint32(length);
    return this;
  }

  /** Opens a submessage; everything until the matching `join()` is inside it. */
  fork(field: number): this {
    invariant(this.#forks.length < WRITER_DEPTH_MAX, "a message we write does not nest this deep");
    this.#reserve(6);
    this.#varint32(((field << 3) | 2) >>> 0);
    this.#forks.push(this.#pos);
    this.#pos++; // One byte is reserved for a length below 128; join() moves the content for longer ones.
    return this;
  }

  /** Closes the submessage opened last. */
  join(): this {
    const at = this.#forks.pop();
    if (at === undefined) throw new InvariantError("join() without fork()");
    const referred = this.#referredAfter(at);
    let length = this.#pos - at - 1;
    for (let i = referred; i < this.#referred.length; i++) length += this.#referred[i]!.value.length;
    if (length < 128) {
      this.#buf[at] = length;
      return this;
    }
    const extra = varint32Size(length) - 1;
    for (let i = referred; i < this.#referred.length; i++) this.#referred[i]!.at += extra;
    this.#reserve(extra);
    this.#buf.copyWithin(at + 1 + extra, at + 1, this.#pos);
    const end = this.#pos + extra;
    this.#pos = at;
    this.#varint32(length);
    this.#pos = end;
    return this;
  }

  /** Appends bytes that already are wire format. */
  raw(value: Uint8Array): this {
    this.#reserve(value.length);
    this.#buf.set(value, this.#pos);
    this.#pos += value.length;
    return this;
  }

  /** A packed list; an empty one writes nothing. */
  packedUint32(field: number, list: readonly number[] | Uint32Array): this {
    if (list.length === 0) return this;
    this.fork(field);
    this.#reserve(list.length * 5 + 5);
    for (let i = 0; i < list.length; i++) this.#varint32(list[i]!);
    return this.join();
  }

  /** The message, in memory that the caller owns (see `allocateBytes`); reset the writer before its next use. */
  finish(): Uint8Array {
    invariant(this.#forks.length === 0, "every fork() is joined before finish()");
    if (this.#referred.length > 0) return this.#assemble();
    if (this.#pos > WRITER_KEPT_BYTES_MAX) return this.#giveAway();
    return copyBytes(this.#buf, 0, this.#pos);
  }

  /**
   * Like `finish`, in pieces: large values are not copied, and must not change as long as the result is used. One piece when there are no
   * large values.
   */
  finishInPieces(): readonly Uint8Array[] {
    if (this.#referred.length === 0) return [this.finish()];
    invariant(this.#forks.length === 0, "every fork() is joined before finishInPieces()");
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (const { at, value } of this.#referred) {
      if (at > from) pieces.push(copyBytes(this.#buf, from, at));
      pieces.push(value);
      from = at;
    }
    if (this.#pos > from) pieces.push(copyBytes(this.#buf, from, this.#pos));
    this.#clearReferences();
    return pieces;
  }

  #refer(field: number, value: Uint8Array): this {
    this.bytesHead(field, value.length);
    this.#referred.push({ at: this.#pos, value });
    this.#referredBytes += value.length;
    return this;
  }

  /** Index of the first value that belongs behind `at`. */
  #referredAfter(at: number): number {
    let index = this.#referred.length;
    while (index > 0 && this.#referred[index - 1]!.at > at) index--;
    return index;
  }

  #assemble(): Uint8Array {
    const whole = allocateBytes(this.size);
    let from = 0;
    let end = 0;
    for (const { at, value } of this.#referred) {
      whole.set(this.#buf.subarray(from, at), end);
      end += at - from;
      whole.set(value, end);
      end += value.length;
      from = at;
    }
    whole.set(this.#buf.subarray(from, this.#pos), end);
    this.#clearReferences();
    return whole;
  }

  #clearReferences(): void {
    if (this.#referred.length === 0) return;
    this.#referred = [];
    this.#referredBytes = 0;
  }

  /** Returns a large message without a copy: the caller gets the memory, and the writer begins with new memory. */
  #giveAway(): Uint8Array {
    const given = new Uint8Array(this.#buf.buffer, 0, this.#pos);
    this.#buf = Buffer.allocUnsafeSlow(WRITER_INITIAL_BYTES);
    this.#pos = 0;
    return given;
  }

  #shortAscii(text: string, chars: number): boolean {
    const buf = this.#buf;
    const start = this.#pos;
    let at = start + 1;
    for (let i = 0; i < chars; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      buf[at++] = code;
    }
    buf[start] = chars;
    this.#pos = at;
    return true;
  }

  #longString(text: string, chars: number): void {
    // Guess the width of the length from the shortest possible encoding; move the text when it came out wider.
    const guessed = varint32Size(chars);
    const from = this.#pos + guessed;
    const written = this.#buf.write(text, from, "utf8");
    const needed = varint32Size(written);
    if (needed !== guessed) this.#buf.copyWithin(this.#pos + needed, from, from + written);
    this.#varint32(written);
    this.#pos += written;
  }

  #varint32(n: number): void {
    const buf = this.#buf;
    let at = this.#pos;
    while (n > 127) {
      buf[at++] = (n & 127) | 128;
      n >>>= 7;
    }
    buf[at++] = n;
    this.#pos = at;
  }

  #varint64(low: number, high: number): void {
    if (high === 0) {
      this.#varint32(low);
      return;
    }
    const buf = this.#buf;
    let at = this.#pos;
    for (let i = 0; i < 4; i++) {
      buf[at++] = (low & 127) | 128;
      low >>>= 7;
    }
    // Ten bits remain: four from the low half, then the high half follows.
    if (high < 8) {
      buf[at++] = low | (high << 4);
      this.#pos = at;
      return;
    }
    buf[at++] = low | ((high & 7) << 4) | 128;
    this.#pos = at;
    this.#varint32(high >>> 3);
  }

  #reserve(count: number): void {
    const needed = this.#pos + count;
    if (needed <= this.#buf.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buf.length * 2));
    larger.set(this.#buf.subarray(0, this.#pos));
    this.#buf = larger;
  }
}

function varint32Size(n: number): number {
  return n < 128 ? 1 : n < 16_384 ? 2 : n < 2_097_152 ? 3 : n < 268_435_456 ? 4 : 5;
}
