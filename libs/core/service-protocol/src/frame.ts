/**
 * Frames: the 8-byte header and body that carry every message (service-protocol §2.1).
 *
 *     0        2        4                 8
 *     | type:16 | flags:16 |  length:32   | body (length bytes)
 *
 * The decoder is pushed whatever the transport delivers and hands out whole frames. It copies a body only when the
 * body came in several chunks, and never allocates for bytes an endpoint merely announced.
 */
import { allocateBytes, EMPTY_BYTES, Ring } from "@perdure/base";
import { type ProtocolFault, protocolViolation } from "./fault.js";
import { frameBodyBytesLimit, frameGatherBytesInitial, frameGatherFactor, frameHeaderBytes } from "./limits.js";
import { isMessageType, MessageType, messageTypeName } from "./message-type.js";

export interface Frame {
  readonly type: number;
  /** Flags of the received frame; see `requestedAckFlag`, and ignore the other bits. */
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
 * Pushed chunks must not be changed afterwards. A caller that takes all frames before pushing again leaves at most one unfinished frame
 * here, in a buffer that grows with the bytes that really arrived: an endpoint neither gets memory for a length it only announced, nor
 * causes a stored chunk per byte by sending a body in tiny chunks.
 */
export class FrameDecoder {
  readonly #bodyBytesLimit: number;
  /** The chunk being read, and those pushed behind it; never empty ones. */
  #chunk: Uint8Array = EMPTY_BYTES;
  #offset = 0;
  readonly #queue = new Ring<Uint8Array>();
  /** The beginning of a header that was cut by the end of a chunk. */
  readonly #header = new Uint8Array(frameHeaderBytes);
  #headerFilled = 0;
  /** Header of the frame whose body is still coming; a length of -1 means that no header has been read. */
  #type = 0;
  #flags = 0;
  #length = -1;
  /** The beginning of a body that was cut by the end of a chunk. */
  #body: Uint8Array | undefined;
  #bodyFilled = 0;
  #fault: ProtocolFault | undefined;

  /** @param bodyBytesLimit first refused length of a body in bytes; see `frameBodyBytesLimit` for its making */
  constructor(bodyBytesLimit: number = frameBodyBytesLimit()) {
    this.#bodyBytesLimit = bodyBytesLimit;
  }

  /** Set once the stream has failed: RT0003 (too long) or RT0012 (unknown type). No frame follows it. */
  get fault(): ProtocolFault | undefined {
    return this.#fault;
  }

  /** Takes the next bytes of the stream. After a fault they are dropped. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0 || this.#fault !== undefined) return;
    this.#queue.push(chunk);
  }

  /** The next whole frame; undefined when more bytes are needed or a fault has been met. */
  next(): Frame | undefined {
    if (this.#length < 0 && !this.#readHeader()) return undefined;
    const body = this.#readBody();
    if (body === undefined) return undefined;
    this.#length = -1;
    return { type: this.#type, flags: this.#flags, body };
  }

  /** Some pushed bytes were not decoded yet; they may be less than a frame. */
  get hasBytes(): boolean {
    return this.#hasBytes();
  }

  /** Announced length of the body that is still coming; 0 between two frames. */
  get pendingBodyBytes(): number {
    return Math.max(0, this.#length);
  }

  /** The stream has ended: true when it stopped inside a frame, whose bytes are lost. Ends the decoder's work. */
  end(): boolean {
    const truncated = this.#fault === undefined && (this.#length >= 0 || this.#headerFilled > 0 || this.#hasBytes());
    this.#drop();
    return truncated;
  }

  /** Reads type, flags and length; false when the header is incomplete or refused. */
  #readHeader(): boolean {
    if (!this.#hasBytes()) return false;
    if (this.#headerFilled === 0 && this.#chunk.length - this.#offset >= frameHeaderBytes) {
      const at = this.#offset;
      this.#offset += frameHeaderBytes;
      return this.#acceptHeader(this.#chunk, at);
    }
    while (this.#headerFilled < frameHeaderBytes) {
      if (!this.#hasBytes()) return false;
      this.#header[this.#headerFilled++] = this.#chunk[this.#offset++]!;
    }
    this.#headerFilled = 0;
    return this.#acceptHeader(this.#header, 0);
  }

  #acceptHeader(bytes: Uint8Array, at: number): boolean {
    const type = (bytes[at]! << 8) | bytes[at + 1]!;
    const length = ((bytes[at + 4]! << 24) | (bytes[at + 5]! << 16) | (bytes[at + 6]! << 8) | bytes[at + 7]!) >>> 0;
    if (!isMessageType(type)) return this.#fail(protocolViolation(`unknown message type ${messageTypeName(type)}`));
    if (length >= this.#bodyBytesLimit) return this.#fail(messageTooLarge(type, length, this.#bodyBytesLimit));
    this.#type = type;
    this.#flags = (bytes[at + 2]! << 8) | bytes[at + 3]!;
    this.#length = length;
    return true;
  }

  /** The whole body: a view when it lies in one chunk, else the gathered bytes; undefined while bytes are missing. */
  #readBody(): Uint8Array | undefined {
    const length = this.#length;
    if (length === 0) return EMPTY_BYTES;
    if (this.#body === undefined && this.#hasBytes() && this.#chunk.length - this.#offset >= length) {
      const view = this.#chunk.subarray(this.#offset, this.#offset + length);
      this.#offset += length;
      return view;
    }
    while (this.#bodyFilled < length) {
      if (!this.#hasBytes()) return undefined;
      this.#gather(Math.min(this.#chunk.length - this.#offset, length - this.#bodyFilled));
    }
    const whole = this.#body;
    this.#body = undefined;
    this.#bodyFilled = 0;
    return whole;
  }

  /** Copies the next `count` bytes of the chunk behind the gathered part of the body. */
  #gather(count: number): void {
    const filled = this.#bodyFilled + count;
    let body = this.#body ?? EMPTY_BYTES;
    if (filled > body.length) {
      // The last growth stops at the announced length, so that the buffer is the body.
      const larger = allocateBytes(
        Math.min(this.#length, Math.max(filled, body.length * frameGatherFactor, frameGatherBytesInitial)),
      );
      larger.set(body);
      this.#body = larger;
      body = larger;
    }
    body.set(this.#chunk.subarray(this.#offset, this.#offset + count), this.#bodyFilled);
    this.#bodyFilled = filled;
    this.#offset += count;
  }

  /** Whether there is a byte to read at `#offset` of `#chunk`, moving on to the next chunk when this one is used up. */
  #hasBytes(): boolean {
    if (this.#offset < this.#chunk.length) return true;
    this.#chunk = this.#queue.shift() ?? EMPTY_BYTES;
    this.#offset = 0;
    return this.#chunk.length > 0;
  }

  #fail(fault: ProtocolFault): false {
    this.#fault = fault;
    this.#drop();
    return false;
  }

  #drop(): void {
    this.#queue.clear();
    this.#chunk = EMPTY_BYTES;
    this.#offset = 0;
    this.#headerFilled = 0;
    this.#length = -1;
    this.#body = undefined;
    this.#bodyFilled = 0;
  }
}

function messageTooLarge(type: number, length: number, limit: number): ProtocolFault {
  const detail = `${messageTypeName(type)} message of ${length} bytes hits the message size limit of ${limit} bytes`;
  return { kind: "fault", code: "RT0003", detail };
}

/**
 * Writes a header into `into` at `at`, which must have `frameHeaderBytes` of free space.
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
