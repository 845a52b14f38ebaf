/**
 * Frames for messages between the server and a statement process over a byte stream: length and content. What the server sends is
 * serialized with V8, because rows have bigints and bytes. What it receives comes from a process that ran a user's statement, so it is
 * JSON and raw bytes, and bounded in length.
 */
import type { Duplex } from "node:stream";
import { deserialize, serialize } from "node:v8";
import { fromUtf8, invariant, present, utf8 } from "@perdure/base";
import type { FromProcess, ToProcess } from "./messages.js";

const LENGTH_BYTES = 4;
const JSON_FRAME = 0;
const CHUNK_FRAME = 1;
/** Bytes of the header of a chunk: kind of the frame and number of the statement. */
const CHUNK_HEADER_BYTES = 5;

/** Longest frame that the server sends: a page and one stored value, which the ingress bounds far below. */
export const TO_PROCESS_BYTES_MAX = 1024 * 1024 * 1024;
/** Longest frame that the server accepts: requests name at most some hundred keys, and chunks are cut to pieces. */
export const FROM_PROCESS_BYTES_MAX = 4 * 1024 * 1024;

export function encodeToProcess(message: ToProcess): Uint8Array {
  return serialize(message);
}

export function decodeToProcess(frame: Uint8Array): ToProcess {
  return deserialize(frame) as ToProcess;
}

export function encodeFromProcess(message: FromProcess): Uint8Array {
  if (message.kind !== "chunk") return Buffer.concat([Buffer.of(JSON_FRAME), utf8(JSON.stringify(message))]);
  const frame = Buffer.allocUnsafe(CHUNK_HEADER_BYTES + message.bytes.length);
  frame[0] = CHUNK_FRAME;
  frame.writeUInt32LE(message.query, 1);
  frame.set(message.bytes, CHUNK_HEADER_BYTES);
  return frame;
}

/** Throws when the frame is malformed. */
export function decodeFromProcess(frame: Buffer): FromProcess {
  if (frame[0] === CHUNK_FRAME) return { kind: "chunk", query: frame.readUInt32LE(1), bytes: frame.subarray(CHUNK_HEADER_BYTES) };
  invariant(frame[0] === JSON_FRAME, "a frame is JSON or a chunk");
  const message: unknown = JSON.parse(fromUtf8(frame.subarray(1)));
  invariant(typeof message === "object" && message !== null && "kind" in message, "a message has a kind");
  return message as FromProcess;
}

/** Frames written in one turn go to the system together. */
export function writeFrame(stream: Duplex, frame: Uint8Array): void {
  if (stream.destroyed || stream.writableEnded) return;
  if (stream.writableCorked === 0) {
    stream.cork();
    process.nextTick(() => stream.uncork());
  }
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  length.writeUInt32LE(frame.length, 0);
  stream.write(length);
  stream.write(frame);
}

/** Assembles frames from the chunks in which they arrive. */
export class FrameReader {
  readonly #frameBytesMax: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** The frames that are complete now. Throws when a frame would exceed the bound. */
  *push(piece: Buffer): Iterable<Buffer> {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    while (this.#bytes >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + this.#length();
      if (this.#bytes < end) return;
      const all = this.#pieces.length === 1 ? present(this.#pieces[0]) : Buffer.concat(this.#pieces, this.#bytes);
      const rest = all.subarray(end);
      this.#pieces = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
      yield all.subarray(LENGTH_BYTES, end);
    }
  }

  #length(): number {
    let first = present(this.#pieces[0]);
    if (first.length < LENGTH_BYTES) {
      first = Buffer.concat(this.#pieces, this.#bytes);
      this.#pieces = [first];
    }
    const length = first.readUInt32LE(0);
    if (length > this.#frameBytesMax) throw new Error(`a message of ${length} bytes is longer than ${this.#frameBytesMax}`);
    return length;
  }
}
