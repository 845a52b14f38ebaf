/**
 * Frames: the 8-byte header and body that carry every message (service-protocol §2.1).
 *
 *     0        2        4                 8
 *     | type:16 | flags:16 |  length:32   | body (length bytes)
 *
 * The decoder is pushed whatever the transport delivers and hands out whole frames. It copies a body only when the
 * body came in several chunks, and never allocates for bytes an endpoint merely announced.
 */
import { EMPTY_BYTES, Ring } from "@perdure/base";
import { type ProtocolFault, protocolViolation } from "./fault.js";
import { frameBodyBytesLimit, frameHeaderBytes } from "./limits.js";
import { isKnownMessageType, MessageType, messageTypeName } from "./message-type.js";

export interface Frame {
  readonly type: number;
  /** As received; see `requestedAckFlag`, ignore the other bits. */
  readonly flags: number;
  /** A view into the pushed chunk when it lay wholly inside one, else a fresh buffer. Copy what outlives the turn. */
  readonly body: Uint8Array;
}

/**
 * Cuts one direction of one stream into frames.
 *
 *     decoder.push(chunk);
 *     for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) …
 *     if (decoder.fault !== undefined) …
 *
 * The decoder keeps pushed chunks until their frames are taken, so chunks must not be changed afterwards. What it holds
 * is bounded by one frame as long as the caller takes all frames before pushing again.
 */
export class FrameDecoder {
  readonly #bodyBytesLimit: number;
  /** Chunks with bytes not handed out yet; `#offset` is the first such byte of the head. */
  readonly #chunks = new Ring<Uint8Array>();
  #offset = 0;
  #available = 0;
  #fault: ProtocolFault | undefined;
  /** Header of the frame whose body is still coming; a length of -1 means that no header has been read. */
  #type = 0;
  #flags = 0;
  #length = -1;

  /** @param bodyBytesLimit first refused length of a body in bytes; see `frameBodyBytesLimit` for its making */
  constructor(bodyBytesLimit: number = frameBodyBytesLimit()) {
    this.#bodyBytesLimit = bodyBytesLimit;
  }

  /** Set once the stream has gone wrong: RT0003 (too long) or RT0012 (unknown type). Nothing follows it. */
  get fault(): ProtocolFault | undefined {
    return this.#fault;
  }

  /** Takes the next bytes of the stream. After a fault they are dropped. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0 || this.#fault !== undefined) return;
    this.#chunks.push(chunk);
    this.#available += chunk.length;
  }

  /** The next whole frame; undefined when more bytes are needed or a fault has been met. */
  next(): Frame | undefined {
    if (this.#length < 0 && !this.#readHeader()) return undefined;
    if (this.#available < this.#length) return undefined;
    const body = this.#length === 0 ? EMPTY_BYTES : this.#take(this.#length);
    this.#length = -1;
    return { type: this.#type, flags: this.#flags, body };
  }

  /** The stream has ended: true when it stopped inside a frame, whose bytes are lost. Ends the decoder's work. */
  end(): boolean {
    const truncated = this.#fault === undefined && (this.#length >= 0 || this.#available > 0);
    this.#drop();
    return truncated;
  }

  /** Reads type, flags and length; false when the header is incomplete or refused. */
  #readHeader(): boolean {
    if (this.#available < frameHeaderBytes) return false;
    const head = this.#chunks.peek();
    const inPlace = head !== undefined && head.length - this.#offset >= frameHeaderBytes;
    const header = inPlace ? head : this.#take(frameHeaderBytes);
    const at = inPlace ? this.#offset : 0;
    const type = (header[at]! << 8) | header[at + 1]!;
    const flags = (header[at + 2]! << 8) | header[at + 3]!;
    const length = ((header[at + 4]! << 24) | (header[at + 5]! << 16) | (header[at + 6]! << 8) | header[at + 7]!) >>> 0;
    if (inPlace) this.#advance(head, frameHeaderBytes);
    if (!isKnownMessageType(type)) return this.#fail(protocolViolation(`unknown message type ${messageTypeName(type)}`));
    if (length >= this.#bodyBytesLimit) return this.#fail(messageTooLarge(type, length, this.#bodyBytesLimit));
    this.#type = type;
    this.#flags = flags;
    this.#length = length;
    return true;
  }

  /** The next `count` bytes, which are there: a view when they lie in the head chunk, else assembled. */
  #take(count: number): Uint8Array {
    const head = this.#chunks.peek()!;
    if (head.length - this.#offset >= count) {
      const view = head.subarray(this.#offset, this.#offset + count);
      this.#advance(head, count);
      return view;
    }
    const whole = new Uint8Array(count);
    for (let filled = 0; filled < count; ) {
      const chunk = this.#chunks.peek()!;
      const part = Math.min(chunk.length - this.#offset, count - filled);
      whole.set(chunk.subarray(this.#offset, this.#offset + part), filled);
      filled += part;
      this.#advance(chunk, part);
    }
    return whole;
  }

  #advance(head: Uint8Array, count: number): void {
    this.#offset += count;
    this.#available -= count;
    if (this.#offset < head.length) return;
    this.#chunks.shift();
    this.#offset = 0;
  }

  #fail(fault: ProtocolFault): false {
    this.#fault = fault;
    this.#drop();
    return false;
  }

  #drop(): void {
    this.#chunks.clear();
    this.#offset = 0;
    this.#available = 0;
    this.#length = -1;
  }
}

function messageTooLarge(type: number, length: number, limit: number): ProtocolFault {
  const detail = `${messageTypeName(type)} message of ${length} bytes hits the message size limit of ${limit} bytes`;
  return { kind: "fault", code: "RT0003", detail };
}

/**
 * Writes a header into `into` at `at`, which must have `frameHeaderBytes` of room.
 *
 * @param length bytes of the body, below 2³²
 */
export function writeFrameHeader(into: Uint8Array, at: number, type: number, flags: number, length: number): void {
  into[at] = type >>> 8;
  into[at + 1] = type;
  into[at + 2] = flags >>> 8;
  into[at + 3] = flags;
  into[at + 4] = length >>> 24;
  into[at + 5] = length >>> 16;
  into[at + 6] = length >>> 8;
  into[at + 7] = length;
}

/** A header alone, for callers that write header and body as two chunks and so save the copy of a large body. */
export function encodeFrameHeader(type: number, flags: number, length: number): Uint8Array {
  const header = new Uint8Array(frameHeaderBytes);
  writeFrameHeader(header, 0, type, flags, length);
  return header;
}

/** Header and body in one fresh buffer. */
export function encodeFrame(type: number, body: Uint8Array, flags = 0): Uint8Array {
  const frame = new Uint8Array(frameHeaderBytes + body.length);
  writeFrameHeader(frame, 0, type, flags, body.length);
  frame.set(body, frameHeaderBytes);
  return frame;
}

/** The whole End frame; its body is always empty. Shared: do not write into it. */
export const endFrame: Uint8Array = encodeFrameHeader(MessageType.End, 0, 0);
