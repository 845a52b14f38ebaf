/** One stream of an HTTP/2 connection: its windows, and what waits in both directions. */
import { ErrorCode } from "./protocol.js";

/** Bytes that wait to be sent until `write` returns false. */
const WAITING_BYTES_MAX = 64 * 1024;

/**
 * Receives the events of a stream, none of them inside a call of it except `closed`. One of `ended`, `reset` and `lost` is the last of the
 * response, unless the stream was aborted.
 */
export interface StreamReceiver {
  /** The headers of the response. `isEnd`: it has no body. */
  answered(status: number, headers: Readonly<Record<string, string>>, isEnd: boolean): void;
  /** A piece of the body, a part of a larger buffer that is never written to again. */
  received(piece: Uint8Array): void;
  /** The response is complete. */
  ended(): void;
  /** The peer reset the stream before it had ended the response, or it broke the rules on this stream. */
  reset(errorCode: number): void;
  /** The connection ended before the response did. */
  lost(cause: unknown): void;
  /** `write` may be called freely again. */
  drained(): void;
  /** The stream no longer counts against its connection. Called once; what was received may still be read. */
  closed(): void;
}

/** What a stream needs of its connection. */
export interface StreamConnection {
  /** The stream has something to send. */
  wantsToSend(stream: Http2Stream): void;
  /** So many bytes of the stream were read, and the peer may send as many others. */
  consumed(stream: Http2Stream, bytes: number): void;
  sendReset(stream: Http2Stream, errorCode: number): void;
  /** Both sides have ended, or it was reset. */
  closed(stream: Http2Stream): void;
}

export class Http2Stream {
  readonly id: number;
  readonly #connection: StreamConnection;
  readonly #receiver: StreamReceiver;

  // ── sending ──
  /** Bytes that the peer lets this stream send; negative after it has made its windows smaller. */
  sendWindow: number;
  readonly #chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that are sent. */
  #sentOfFirst = 0;
  #waitingBytes = 0;
  #mustDrain = false;
  #isEndRequested = false;
  #isSendingOver = false;
  /** It is in its connection's list of streams that have something to send. */
  isScheduled = false;

  // ── receiving ──
  /** Bytes that the peer may send. */
  receiveWindow: number;
  /** Bytes that were read and are not yet reported to the peer. */
  unreported = 0;
  isAnswered = false;
  /** The peer has ended the response. */
  isReceivingOver = false;
  #isPaused = false;
  /** Received while it is paused. */
  #unread: Uint8Array[] | undefined;
  #isReading = false;
  /** The receiver got its last event, or wants none. */
  #isDone = false;
  #isClosed = false;

  constructor(id: number, windows: { send: number; receive: number }, receiver: StreamReceiver, connection: StreamConnection) {
    this.id = id;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
    this.#receiver = receiver;
    this.#connection = connection;
  }

  /** Both sides have ended, or it was reset: nothing more is sent. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  // ── calls of the user ──────────────────────────────────────────────────────────────────────────

  /** Returns false: stop writing until `drained`. The bytes must not change afterwards. What is written after the end is dropped. */
  write(bytes: Uint8Array): boolean {
    if (this.#isClosed || this.#isEndRequested || bytes.length === 0) return true;
    this.#chunks.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#connection.wantsToSend(this);
    if (this.#waitingBytes < WAITING_BYTES_MAX) return true;
    this.#mustDrain = true;
    return false;
  }

  end(): void {
    if (this.#isClosed || this.#isEndRequested) return;
    this.#isEndRequested = true;
    this.#connection.wantsToSend(this);
  }

  /** Resets the stream; the receiver gets `closed` and nothing else. */
  abort(): void {
    this.#isDone = true;
    this.#unread = undefined;
    if (this.#isClosed) return;
    this.#connection.sendReset(this, ErrorCode.cancel);
    this.#close();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#unread === undefined || this.#isReading) return;
    this.#isReading = true;
    process.nextTick(() => this.#readOn());
  }

  // ── sending, by the connection ─────────────────────────────────────────────────────────────────

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** It has bytes that its window allows, or nothing but its end. */
  get canSend(): boolean {
    if (this.#isClosed || this.#isSendingOver) return false;
    return this.#waitingBytes > 0 ? this.sendWindow > 0 : this.#isEndRequested;
  }

  /** The next frame of at most so many bytes has the end of the request. */
  endsWithin(bytes: number): boolean {
    return this.#isEndRequested && this.#waitingBytes <= bytes;
  }

  /** Takes the next bytes for a frame, in pieces. */
  takeBytes(count: number, piece: (bytes: Uint8Array) => void): void {
    this.sendWindow -= count;
    this.#waitingBytes -= count;
    for (let left = count; left > 0; ) {
      const first = this.#chunks[0]!;
      const end = Math.min(first.length, this.#sentOfFirst + left);
      piece(this.#sentOfFirst === 0 && end === first.length ? first : first.subarray(this.#sentOfFirst, end));
      left -= end - this.#sentOfFirst;
      this.#sentOfFirst = end;
      if (end < first.length) continue;
      this.#chunks.shift();
      this.#sentOfFirst = 0;
    }
  }

  /** After its frame was gathered. */
  sent(isEnd: boolean): void {
    if (this.#mustDrain && this.#waitingBytes < WAITING_BYTES_MAX) {
      this.#mustDrain = false;
      if (!this.#isDone) this.#receiver.drained();
    }
    if (!isEnd) return;
    this.#isSendingOver = true;
    if (this.isReceivingOver) this.#close();
  }

  // ── receiving, by the connection ───────────────────────────────────────────────────────────────

  answer(status: number, headers: Readonly<Record<string, string>>, isEnd: boolean): void {
    this.isAnswered = true;
    if (!this.#isDone) this.#receiver.answered(status, headers, isEnd);
  }

  /** @returns whether the bytes count as read at once */
  receive(piece: Uint8Array): boolean {
    if (this.#isDone) return true;
    if (this.#isPaused || this.#unread !== undefined) {
      this.#unread ??= [];
      this.#unread.push(piece);
      return false;
    }
    this.#receiver.received(piece);
    return true;
  }

  /** The peer has ended the response. */
  receivedEnd(): void {
    if (this.isReceivingOver) return;
    this.isReceivingOver = true;
    if (this.#unread === undefined) this.#ended();
    if (this.#isSendingOver) this.#close();
  }

  /** The peer reset the stream, or it is reset because the peer broke a rule on it. */
  receivedReset(errorCode: number): void {
    if (!this.isReceivingOver) this.#finish(() => this.#receiver.reset(errorCode));
    this.#close();
  }

  /** The connection has ended. */
  connectionLost(cause: unknown): void {
    if (!this.isReceivingOver) this.#finish(() => this.#receiver.lost(cause));
    this.#close();
  }

  #readOn(): void {
    this.#isReading = false;
    let bytes = 0;
    while (!this.#isPaused && this.#unread !== undefined) {
      const piece = this.#unread.shift();
      if (piece === undefined) {
        this.#unread = undefined;
        if (this.isReceivingOver) this.#ended();
        break;
      }
      bytes += piece.length;
      this.#receiver.received(piece);
    }
    if (bytes > 0) this.#connection.consumed(this, bytes);
  }

  #ended(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#receiver.ended();
  }

  #finish(report: () => void): void {
    this.#unread = undefined;
    if (this.#isDone) return;
    this.#isDone = true;
    report();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#chunks.length = 0;
    this.#waitingBytes = 0;
    this.#connection.closed(this);
    this.#receiver.closed();
  }
}
