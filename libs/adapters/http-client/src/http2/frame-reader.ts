/**
 * Cuts the bytes of a connection into frames. The payload of a DATA frame is passed on as it arrives, without being gathered or copied;
 * every other payload is passed on whole.
 */
import { ErrorCode, Flag, FRAME_HEAD_BYTES, FrameType, Http2ProtocolError, protocolError, uint31At } from "./protocol.js";

export interface FrameReceiver {
  /**
   * A piece of a DATA frame, without its padding.
   * @param windowBytes bytes of the piece that count against the windows, padding included
   * @param isEnd the stream ends with this piece
   */
  data(streamId: number, piece: Buffer, windowBytes: number, isEnd: boolean): void;
  /** Any other frame. `payload` is valid during the call only. */
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

const EMPTY = Buffer.alloc(0);

export class Http2FrameReader {
  readonly #receiver: FrameReceiver;
  readonly #lengthMax: number;
  /** A head that did not arrive in one piece. */
  readonly #head = Buffer.alloc(FRAME_HEAD_BYTES);
  #headBytes = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** Bytes of the payload that are still to come. */
  #left = 0;
  #isInPayload = false;
  /** The payload of a frame that is not DATA and did not arrive in one piece. */
  #gathered: Buffer | undefined;
  /** Bytes of padding at the end of a DATA frame; −1: its length is the next byte. */
  #padding = 0;
  #isStopped = false;

  /** @param lengthMax SETTINGS_MAX_FRAME_SIZE of this end: a longer payload is a FRAME_SIZE_ERROR */
  constructor(receiver: FrameReceiver, lengthMax: number) {
    this.#receiver = receiver;
    this.#lengthMax = lengthMax;
  }

  /** Nothing is passed on any more, also of bytes that are being read. */
  stop(): void {
    this.#isStopped = true;
  }

  /** @throws Http2ProtocolError a frame breaks the rules */
  push(chunk: Buffer): void {
    let at = 0;
    while (!this.#isStopped) {
      if (!this.#isInPayload) {
        at = this.#readHead(chunk, at);
        if (!this.#isInPayload) return;
      }
      // A frame without payload is complete with its head.
      if (at >= chunk.length && this.#left > 0) return;
      at = this.#type === FrameType.data ? this.#readData(chunk, at) : this.#readPayload(chunk, at);
      if (at >= chunk.length && (!this.#isInPayload || this.#left > 0)) return;
    }
  }

  #readHead(chunk: Buffer, from: number): number {
    let head: Buffer = chunk;
    let at = from;
    let end = from + FRAME_HEAD_BYTES;
    if (this.#headBytes > 0 || end > chunk.length) {
      end = Math.min(chunk.length, from + FRAME_HEAD_BYTES - this.#headBytes);
      this.#headBytes += chunk.copy(this.#head, this.#headBytes, from, end);
      if (this.#headBytes < FRAME_HEAD_BYTES) return chunk.length;
      this.#headBytes = 0;
      head = this.#head;
      at = 0;
    }
    this.#left = (head[at]! << 16) | (head[at + 1]! << 8) | head[at + 2]!;
    this.#type = head[at + 3]!;
    this.#flags = head[at + 4]!;
    this.#streamId = uint31At(head, at + 5);
    if (this.#left > this.#lengthMax) throw new Http2ProtocolError(ErrorCode.frameSizeError, `a frame has ${this.#left} bytes`);
    this.#isInPayload = true;
    this.#padding = this.#type === FrameType.data && (this.#flags & Flag.padded) !== 0 ? -1 : 0;
    return end;
  }

  #readPayload(chunk: Buffer, from: number): number {
    const end = Math.min(chunk.length, from + this.#left);
    const piece = from === end ? EMPTY : chunk.subarray(from, end);
    this.#left -= end - from;
    let payload = piece;
    if (this.#left > 0 || this.#gathered !== undefined) {
      this.#gathered ??= Buffer.allocUnsafe(this.#left + piece.length);
      piece.copy(this.#gathered, this.#gathered.length - this.#left - piece.length);
      if (this.#left > 0) return end;
      payload = this.#gathered;
      this.#gathered = undefined;
    }
    this.#isInPayload = false;
    this.#receiver.frame(this.#type, this.#flags, this.#streamId, payload);
    return end;
  }

  #readData(chunk: Buffer, from: number): number {
    const end = Math.min(chunk.length, from + this.#left);
    let at = from;
    if (this.#padding < 0) {
      if (this.#left === 0) throw protocolError("a padded DATA frame has no length of its padding");
      if (at >= end) return end;
      this.#padding = chunk[at]!;
      at++;
      if (this.#padding > this.#left - 1) throw protocolError("the padding of a DATA frame is longer than the frame");
    }
    this.#left -= end - from;
    const pieceEnd = Math.max(at, end - Math.max(0, this.#padding - this.#left));
    const isLast = this.#left === 0;
    if (isLast) this.#isInPayload = false;
    const isEnd = isLast && (this.#flags & Flag.endStream) !== 0;
    const piece = at === pieceEnd ? EMPTY : chunk.subarray(at, pieceEnd);
    this.#receiver.data(this.#streamId, piece, end - from, isEnd);
    return end;
  }
}
