/** Gathers the header block of a stream from HEADERS and the CONTINUATION frames that follow it (RFC 9113 §6.2, §6.10). */
import { ErrorCode, Flag, FrameType, Http2ProtocolError, protocolError } from "./protocol.js";

/** Bytes of a block before decoding. */
const BLOCK_BYTES_MAX = 256 * 1024;
const PRIORITY_BYTES = 5;

export interface CompleteBlock {
  readonly streamId: number;
  readonly isEnd: boolean;
  readonly block: Buffer;
}

export class HeaderBlock {
  /** Pieces of the block that is not complete yet. */
  #pieces: Buffer[] | undefined;
  #bytes = 0;
  #streamId = 0;
  #isEnd = false;

  /** @throws Http2ProtocolError a block is not complete, and nothing else may come before its end */
  expectNone(): void {
    if (this.#pieces !== undefined) throw protocolError("a header block is interrupted");
  }

  /** Adds a HEADERS or CONTINUATION frame; returns the block when it is complete. */
  add(type: number, flags: number, streamId: number, payload: Buffer): CompleteBlock | undefined {
    const isContinuation = type === FrameType.continuation;
    if (isContinuation && (this.#pieces === undefined || streamId !== this.#streamId))
      throw protocolError("CONTINUATION without HEADERS");
    const piece = isContinuation ? payload : fragmentOf(flags, payload);
    const isComplete = (flags & Flag.endHeaders) !== 0;
    if (!isContinuation && isComplete) return { streamId, isEnd: (flags & Flag.endStream) !== 0, block: piece };
    if (!isContinuation) {
      this.#pieces = [];
      this.#bytes = 0;
      this.#streamId = streamId;
      this.#isEnd = (flags & Flag.endStream) !== 0;
    }
    return this.#gather(piece, isComplete);
  }

  #gather(piece: Buffer, isComplete: boolean): CompleteBlock | undefined {
    const pieces = this.#pieces!;
    // An empty piece costs, too.
    this.#bytes += Math.max(1_024, piece.length);
    if (this.#bytes > BLOCK_BYTES_MAX) throw new Http2ProtocolError(ErrorCode.enhanceYourCalm, "a header block is too long");
    pieces.push(Buffer.from(piece));
    if (!isComplete) return undefined;
    this.#pieces = undefined;
    return { streamId: this.#streamId, isEnd: this.#isEnd, block: Buffer.concat(pieces) };
  }
}

/** The block in a HEADERS frame, without padding and priority. */
function fragmentOf(flags: number, payload: Buffer): Buffer {
  let from = 0;
  let end = payload.length;
  if ((flags & Flag.padded) !== 0) {
    end -= payload[0] ?? 0;
    from = 1;
  }
  if ((flags & Flag.priority) !== 0) from += PRIORITY_BYTES;
  if (from > end) throw protocolError("the padding of a HEADERS frame is longer than the frame");
  return payload.subarray(from, end);
}
