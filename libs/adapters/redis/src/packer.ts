/**
 * Packs a commit into one binary argument, because a thousand small arguments cost client and server more than the work itself. Redis reads
 * MessagePack in C (`cmsgpack.unpack`); this class writes the part of MessagePack that commits need.
 */
const FIRST_BYTES = 64 * 1024;
/** A larger buffer is not kept for the next commit. */
const KEPT_BYTES_MAX = 1024 * 1024;
/** Texts up to this length, ids among them, are written by hand: a call into the native encoder takes longer than the loop. */
const SHORT_CHARS = 64;

export class BatchPacker {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #at = 0;

  reset(): this {
    if (this.#buffer.length > KEPT_BYTES_MAX) this.#buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.#at = 0;
    return this;
  }

  get size(): number {
    return this.#at;
  }

  /** A list; its `length` items follow. */
  list(length: number): this {
    this.#reserve(5);
    if (length < 16) this.#byte(0x90 | length);
    else {
      this.#byte(0xdd);
      this.#uint32(length);
    }
    return this;
  }

  /** Opens a list whose length is written later by `closeList`, which takes the returned position; inner lists are closed first. */
  openList(): number {
    this.#reserve(1);
    return this.#at++;
  }

  closeList(at: number, length: number): void {
    if (length < 16) {
      this.#buffer[at] = 0x90 | length;
      return;
    }
    this.#reserve(4);
    this.#buffer.copyWithin(at + 5, at + 1, this.#at);
    this.#at += 4;
    this.#buffer[at] = 0xdd;
    this.#buffer.writeUInt32BE(length, at + 1);
  }

  /** A whole number from 0 to 2³²−1. */
  uint(n: number): this {
    this.#reserve(5);
    if (n < 128) this.#byte(n);
    else {
      this.#byte(0xce);
      this.#uint32(n);
    }
    return this;
  }

  /** Text as UTF-8. */
  text(text: string): this {
    return text.length <= SHORT_CHARS && this.#short(text, 0x7f) ? this : this.#string(text, "utf8", text.length * 3);
  }

  /** A binary string: one byte for each char. */
  latin1(text: string): this {
    return text.length <= SHORT_CHARS && this.#short(text, 0xff) ? this : this.#string(text, "latin1", text.length);
  }

  /** Bytes after a tag of one byte. */
  tagged(tag: number, bytes: Uint8Array): this {
    this.#reserve(bytes.length + 6);
    this.#header(bytes.length + 1);
    this.#byte(tag);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  bytes(bytes: Uint8Array): this {
    this.#reserve(bytes.length + 5);
    this.#header(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  /** A copy of the packed bytes. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#at));
  }

  /** False, and nothing written, when it has a char above `codeMax`. */
  #short(text: string, codeMax: number): boolean {
    this.#reserve(SHORT_CHARS + 2);
    const start = this.#at;
    this.#header(text.length);
    const buffer = this.#buffer;
    let at = this.#at;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > codeMax) {
        this.#at = start;
        return false;
      }
      buffer[at++] = code;
    }
    this.#at = at;
    return true;
  }

  #string(text: string, encoding: "utf8" | "latin1", bytesMax: number): this {
    this.#reserve(bytesMax + 5);
    const length = encoding === "latin1" ? text.length : Buffer.byteLength(text, "utf8");
    this.#header(length);
    this.#at += this.#buffer.write(text, this.#at, encoding);
    return this;
  }

  #header(length: number): void {
    if (length < 32) this.#byte(0xa0 | length);
    else if (length < 256) {
      this.#byte(0xd9);
      this.#byte(length);
    } else {
      this.#byte(0xdb);
      this.#uint32(length);
    }
  }

  #byte(n: number): void {
    this.#buffer[this.#at++] = n;
  }

  #uint32(n: number): void {
    this.#buffer.writeUInt32BE(n, this.#at);
    this.#at += 4;
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}
