/**
 * The frames that an attempt sends: Start and the replayed journal, then live notifications and acks, then the end of the request. Frames
 * are gathered into few writes, stored bodies are copied once and never encoded again, and writing stops while the stream applies
 * backpressure.
 */
import { EMPTY_BYTES, Ring } from "@perdure/base";
import { encodeFrame, encodeFrameHeader, frameHeaderBytes, writeFrameHeader } from "@perdure/service-protocol";
import { GATHER_BYTES, OUTGOING_BYTES_MAX, SLAB_SLICE_BYTES_MAX } from "./limits.js";

const NOTHING: readonly OutgoingFrame[] = [];
const NO_BYTES: readonly Uint8Array[] = [];

/** A frame without flags. */
export interface OutgoingFrame {
  readonly type: number;
  readonly body: Uint8Array;
}

export interface OutgoingSink {
  /** False: write no more until `drained` is called. */
  write(bytes: Uint8Array): boolean;
  halfClose(): void;
  /** Call `flush` soon; gathering more frames before that makes fewer writes. */
  requestFlush(): void;
}

/**
 * Small writes are cut from a shared slab: memory of their own costs a native allocation each and burdens the garbage collector. A slab
 * is freed once the socket has written its slices.
 */
let slab: Uint8Array = EMPTY_BYTES;
let slabUsed = 0;

function gatherBuffer(size: number): Uint8Array {
  if (size > SLAB_SLICE_BYTES_MAX) return new Uint8Array(size);
  if (slabUsed + size > slab.length) {
    slab = new Uint8Array(GATHER_BYTES);
    slabUsed = 0;
  }
  slabUsed += size;
  return slab.subarray(slabUsed - size, slabUsed);
}

/** A frame whose body is in pieces; the header is one more piece. */
export function frameInPieces(type: number, body: readonly Uint8Array[]): readonly Uint8Array[] {
  let bytes = 0;
  for (const piece of body) bytes += piece.length;
  return [encodeFrameHeader(type, 0, bytes), ...body];
}

export class Outgoing {
  readonly #sink: OutgoingSink;
  /** Written as they are, before the replay. */
  #beginning: readonly Uint8Array[];
  #begun = 0;
  #replay: readonly OutgoingFrame[];
  #replayed = 0;
  /** Frames, large ones in two pieces. Created when first needed: many attempts receive no message after the replay. */
  #live: Ring<Uint8Array> | undefined;
  #liveBytes = 0;
  #writable = true;
  #state: "open" | "closing" | "closed" = "open";

  /** @param beginning bytes of frames that are sent before the replay, each piece without a copy */
  constructor(replay: readonly OutgoingFrame[], sink: OutgoingSink, beginning: readonly Uint8Array[] = NO_BYTES) {
    this.#beginning = beginning;
    this.#replay = replay;
    this.#sink = sink;
  }

  /** The request accepts more frames. */
  get open(): boolean {
    return this.#state === "open";
  }

  /** The request accepts more frames, and the stream has written all queued ones. */
  get isIdle(): boolean {
    if (this.#state !== "open" || !this.#writable) return false;
    return this.#beginning.length === 0 && this.#replay.length === 0 && (this.#live?.length ?? 0) === 0;
  }

  /** Everything was sent, the end included. */
  get closed(): boolean {
    return this.#state === "closed";
  }

  push(type: number, body: Uint8Array): void {
    if (this.#state !== "open") return;
    if (body.length <= GATHER_BYTES) this.#pushPieces(encodeFrame(type, body));
    else this.#pushPieces(encodeFrameHeader(type, 0, body.length), body);
  }

  /** A whole frame. Dropped once the request is closing: its content is in the journal and will be replayed. */
  pushFrame(frame: Uint8Array): void {
    if (this.#state === "open") this.#pushPieces(frame);
  }

  /** All pieces of a frame, or none. */
  #pushPieces(first: Uint8Array, second?: Uint8Array): void {
    const bytes = first.length + (second?.length ?? 0);
    if (this.#liveBytes > 0 && this.#liveBytes + bytes > OUTGOING_BYTES_MAX) return this.close();
    this.#live ??= new Ring();
    const wasEmpty = this.#live.length === 0;
    this.#live.push(first);
    if (second !== undefined) this.#live.push(second);
    this.#liveBytes += bytes;
    if (wasEmpty) this.#sink.requestFlush();
  }

  /** Half-closes the request once everything queued is written. */
  close(): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.flush();
  }

  /** Half-closes at once and drops what was not written: the handler needs no more input. */
  closeNow(): void {
    if (this.#state === "closed") return;
    this.abandon();
    this.#sink.halfClose();
  }

  /** The stream is closed. */
  abandon(): void {
    this.#state = "closed";
    this.#beginning = NO_BYTES;
    this.#replay = NOTHING;
    this.#replayed = 0;
    this.#live = undefined;
    this.#liveBytes = 0;
  }

  drained(): void {
    this.#writable = true;
    this.flush();
  }

  flush(): void {
    while (this.#writable && this.#state !== "closed") {
      if (this.#begun < this.#beginning.length) this.#writeBeginning();
      else if (this.#replayed < this.#replay.length) this.#writeReplay();
      else if (this.#live !== undefined && this.#live.length > 0) this.#writeLive(this.#live);
      else {
        if (this.#state === "closing") {
          this.#state = "closed";
          this.#sink.halfClose();
        }
        return;
      }
    }
  }

  #writeBeginning(): void {
    const piece = this.#beginning[this.#begun++]!;
    if (this.#begun === this.#beginning.length) {
      this.#beginning = NO_BYTES; // Its memory is not kept until the attempt ends.
      this.#begun = 0;
    }
    this.#writable = this.#sink.write(piece);
  }

  #writeReplay(): void {
    const frames = this.#replay;
    const from = this.#replayed;
    let to = from;
    let size = 0;
    for (; to < frames.length; to++) {
      const more = frameHeaderBytes + frames[to]!.body.length;
      if (size + more > GATHER_BYTES) break;
      size += more;
    }
    if (to === from) this.#writeLargeFrame(frames[from]!, ++to);
    else {
      const gathered = gatherBuffer(size);
      for (let i = from, at = 0; i < to; i++) {
        const { type, body } = frames[i]!;
        writeFrameHeader(gathered, at, type, 0, body.length);
        gathered.set(body, at + frameHeaderBytes);
        at += frameHeaderBytes + body.length;
      }
      this.#replayedUpTo(to);
      this.#writable = this.#sink.write(gathered);
    }
  }

  #writeLargeFrame({ type, body }: OutgoingFrame, to: number): void {
    this.#replayedUpTo(to);
    this.#sink.write(encodeFrameHeader(type, 0, body.length));
    this.#writable = this.#sink.write(body);
  }

  #replayedUpTo(to: number): void {
    const done = to === this.#replay.length;
    this.#replayed = done ? 0 : to;
    if (done) this.#replay = NOTHING; // A long journal is not kept until the attempt ends.
  }

  #writeLive(live: Ring<Uint8Array>): void {
    const first = live.shift()!;
    this.#liveBytes -= first.length;
    const next = live.peek();
    if (next === undefined || first.length + next.length > GATHER_BYTES) {
      this.#writable = this.#sink.write(first);
      if (first.length > frameHeaderBytes || next === undefined) return;
      // A header, which is written together with its body.
      live.shift();
      this.#liveBytes -= next.length;
      this.#writable = this.#sink.write(next);
      return;
    }
    const batch = [first];
    let size = first.length;
    for (
      let frame: Uint8Array | undefined = next;
      frame !== undefined && size + frame.length <= GATHER_BYTES;
      frame = live.peek()
    ) {
      live.shift();
      this.#liveBytes -= frame.length;
      batch.push(frame);
      size += frame.length;
    }
    const gathered = gatherBuffer(size);
    let at = 0;
    for (const frame of batch) {
      gathered.set(frame, at);
      at += frame.length;
    }
    this.#writable = this.#sink.write(gathered);
  }
}
