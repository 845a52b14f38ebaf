/**
 * Reader of protobuf wire format, the counterpart of `ProtoWriter`. It reads in place and returns views, so decoding a message copies
 * nothing. A caller that keeps a view beyond the lifetime of the buffer copies it. Input is not trusted: everything malformed is a
 * `ProtoError`.
 */
import { fromUtf8Strict } from "./bytes.js";

/** The bytes are not valid wire format. */
export class ProtoError extends Error {
  override readonly name = "ProtoError";
}

const TWO_32 = 4_294_967_296;
/** Up to this many bytes a loop over ASCII beats the native decoder (0.13 µs). */
const SHORT_STRING_BYTES = 8;

export class ProtoReader {
  readonly buf: Uint8Array;
  /** Index of the next byte to read. */
  pos: number;
  /** Index behind the last byte to read. */
  end: number;
  #low = 0;
  #high = 0;

  /** Reads `buf` from `start` up to, not including, `end`. */
  constructor(buf: Uint8Array, start = 0, end: number = buf.length) {
    if (start < 0 || end > buf.length || start > end) throw new ProtoError("range outside the buffer");
    this.buf = buf;
    this.pos = start;
    this.end = end;
  }

  hasMore(): boolean {
    return this.pos < this.end;
  }

  /** `field << 3 | wireType` of the next field. Field 0 and the unused wire types 6 and 7 are malformed. */
  tag(): number {
    const tag = this.#small();
    if (tag < 8) throw new ProtoError("field number 0");
    if ((tag & 7) > 5) throw new ProtoError("unknown wire type");
    return tag;
  }

  /** A varint cut to its low 32 bits, unsigned. */
  uint32(): number {
    const { buf, pos } = this;
    if (pos < this.end && buf[pos]! < 128) {
      this.pos = pos + 1;
      return buf[pos]!;
    }
    this.#varint();
    return this.#low;
  }

  /** A varint as an unsigned 64-bit value. */
  uint64(): bigint {
    this.#varint();
    return this.#high === 0 ? BigInt(this.#low) : (BigInt(this.#high) << 32n) | BigInt(this.#low);
  }

  /** A varint as a number; values above 2⁵³−1 become `Number.MAX_SAFE_INTEGER`. */
  uint64Number(): number {
    this.#varint();
    return this.#high > 0x1f_ffff ? Number.MAX_SAFE_INTEGER : this.#high * TWO_32 + this.#low;
  }

  bool(): boolean {
    this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  /** UTF-8 text; anything else is malformed. */
  string(): string {
    const size = this.#length();
    const from = this.pos;
    this.pos = from + size;
    if (size <= SHORT_STRING_BYTES) {
      const short = shortAscii(this.buf, from, from + size);
      if (short !== undefined) return short;
    }
    const text = fromUtf8Strict(this.buf, from, from + size);
    if (text === undefined) throw new ProtoError("text that is not UTF-8");
    return text;
  }

  /** A view of the bytes, no copy. */
  bytes(): Uint8Array {
    const size = this.#length();
    const from = this.pos;
    this.pos = from + size;
    return this.buf.subarray(from, from + size);
  }

  /**
   * Bounds of the next length-delimited value in `buf`, for a `new ProtoReader(buf, start, end)`; the reader continues behind the value.
   */
  message(): { start: number; end: number } {
    const size = this.#length();
    const start = this.pos;
    this.pos = start + size;
    return { start, end: this.pos };
  }

  /** Appends a packed list of varints (low 32 bits each) to `into`. */
  packedUint32(into: number[]): void {
    const size = this.#length();
    const outerEnd = this.end;
    this.end = this.pos + size;
    while (this.pos < this.end) into.push(this.uint32());
    this.end = outerEnd;
  }

  /** Skips a value of the given wire type (the low three bits of its tag). Groups are refused: proto3 has none. */
  skip(wireType: number): void {
    switch (wireType) {
      case 0:
        this.#varint();
        return;
      case 1:
        this.#advance(8);
        return;
      case 2:
        this.#advance(this.#length());
        return;
      case 5:
        this.#advance(4);
        return;
      default:
        throw new ProtoError(`wire type ${wireType} cannot be skipped`);
    }
  }

  #length(): number {
    const size = this.#small();
    if (size > this.end - this.pos) throw new ProtoError("a length beyond the end of the message");
    return size;
  }

  /** A tag or length: more than 32 bits are malformed, not cut off. */
  #small(): number {
    const { buf, pos } = this;
    if (pos < this.end && buf[pos]! < 128) {
      this.pos = pos + 1;
      return buf[pos]!;
    }
    this.#varint();
    if (this.#high !== 0) throw new ProtoError("a tag or length of more than 32 bits");
    return this.#low;
  }

  #advance(count: number): void {
    if (count > this.end - this.pos) throw new ProtoError("the message ends inside a field");
    this.pos += count;
  }

  /** Reads up to ten bytes into the two 32-bit halves; bits beyond 64 are dropped as everywhere. */
  #varint(): void {
    const { buf, end } = this;
    let { pos } = this;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (pos >= end) throw new ProtoError("the message ends inside a number");
      const byte = buf[pos++]!;
      if (shift < 28) low |= (byte & 127) << shift;
      else if (shift === 28) {
        low |= (byte & 15) << 28;
        high = (byte & 127) >> 4;
      } else high |= (byte & 127) << (shift - 32);
      if (byte < 128) {
        this.pos = pos;
        this.#low = low >>> 0;
        this.#high = high >>> 0;
        return;
      }
    }
    throw new ProtoError("a number longer than ten bytes");
  }
}

function shortAscii(buf: Uint8Array, from: number, end: number): string | undefined {
  let text = "";
  for (let at = from; at < end; at++) {
    const byte = buf[at]!;
    if (byte > 127) return undefined;
    text += String.fromCharCode(byte);
  }
  return text;
}
