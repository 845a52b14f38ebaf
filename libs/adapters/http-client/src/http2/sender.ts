/**
 * The sending half of a connection: frames of all streams, the peer's windows, and the turns of streams. What one turn of the event loop
 * gives is written together after it.
 */
import type { Socket } from "node:net";
import { FrameWriter } from "./frame-writer.js";
import { HpackEncoder } from "./hpack-encoder.js";
import type { PeerSettings } from "./peer-settings.js";
import {
  ErrorCode,
  Flag,
  FrameType,
  Http2ProtocolError,
  INITIAL_WINDOW_BYTES,
  PREFACE,
  Setting,
  WINDOW_BYTES_MAX,
} from "./protocol.js";
import type { Http2Stream } from "./stream.js";

/** Bytes that the socket may hold before DATA waits: enough to keep it busy, and little in front of a PING. */
const SOCKET_BYTES_MAX = 256 * 1024;
/** Answers to PING and SETTINGS that wait because the peer does not read; beyond, it floods. */
const ACKS_WAITING_MAX = 1_000;

export class Sender {
  readonly #socket: Socket;
  readonly #peer: PeerSettings;
  readonly #writer = new FrameWriter();
  readonly #encoder = new HpackEncoder();
  /** Streams that have something to send, in the order of their turns. */
  readonly #sending: Http2Stream[] = [];
  /** Bytes that the peer lets the connection send. */
  #window = INITIAL_WINDOW_BYTES;
  #acksWaiting = 0;
  #isFlushScheduled = false;

  constructor(socket: Socket, peer: PeerSettings) {
    this.#socket = socket;
    this.#peer = peer;
  }

  /** The preface of a client, its SETTINGS, and the window of the connection. */
  begin(streamWindowBytes: number, connectionWindowBytes: number): void {
    const writer = this.#writer;
    writer.bytes(PREFACE);
    writer.head(FrameType.settings, 0, 0, 12);
    writer.bytes(Uint8Array.of(0, Setting.enablePush, 0, 0, 0, 0, 0, Setting.initialWindowSize));
    writer.uint32(streamWindowBytes);
    this.windowUpdate(0, connectionWindowBytes - INITIAL_WINDOW_BYTES);
  }

  /** @param fields names and values in turn */
  headers(streamId: number, fields: readonly string[]): void {
    const block = this.#encoder.encode(fields);
    const most = this.#peer.frameBytesMax;
    let from = 0;
    do {
      // A copy: the writer may keep it, and the encoder uses its buffer again.
      const piece = block.slice(from, from + most);
      const flags = from + most >= block.length ? Flag.endHeaders : 0;
      this.#writer.head(from === 0 ? FrameType.headers : FrameType.continuation, flags, streamId, piece.length);
      this.#writer.bytes(piece);
      from += most;
    } while (from < block.length);
    this.#scheduleFlush();
  }

  /** The stream has something to send. */
  schedule(stream: Http2Stream): void {
    if (stream.isScheduled || !stream.canSend) return;
    stream.isScheduled = true;
    this.#sending.push(stream);
    this.#scheduleFlush();
  }

  reset(streamId: number, errorCode: number): void {
    this.#writer.head(FrameType.rstStream, 0, streamId, 4);
    this.#writer.uint32(errorCode);
    this.#scheduleFlush();
  }

  windowUpdate(streamId: number, bytes: number): void {
    this.#writer.head(FrameType.windowUpdate, 0, streamId, 4);
    this.#writer.uint32(bytes);
    this.#scheduleFlush();
  }

  ping(): void {
    this.#writer.head(FrameType.ping, 0, 0, 8);
    this.#writer.uint32(0);
    this.#writer.uint32(0);
    this.#scheduleFlush();
  }

  /** Answers a PING or SETTINGS. */
  acknowledge(type: number, payload: Uint8Array): void {
    if (++this.#acksWaiting > ACKS_WAITING_MAX)
      throw new Http2ProtocolError(ErrorCode.enhanceYourCalm, "the peer sends PING or SETTINGS without end");
    this.#writer.head(type, Flag.ack, 0, payload.length);
    this.#writer.bytes(payload);
    this.#scheduleFlush();
  }

  /** The last frame; it is written at once. */
  goaway(errorCode: number): void {
    this.#writer.head(FrameType.goaway, 0, 0, 8);
    this.#writer.uint32(0);
    this.#writer.uint32(errorCode);
    this.flush();
  }

  /** The peer's SETTINGS have changed. */
  settingsChanged(): void {
    this.#encoder.limitTable(this.#peer.headerTableBytes);
  }

  /** The peer lets the connection send more. */
  widen(bytes: number): void {
    this.#window += bytes;
    if (this.#window > WINDOW_BYTES_MAX)
      throw new Http2ProtocolError(ErrorCode.flowControlError, "the connection's window is too large");
    this.#scheduleFlush();
  }

  flush(): void {
    const socket = this.#socket;
    if (socket.destroyed || socket.writableEnded) return;
    this.#gatherData();
    const pieces = this.#writer.take();
    if (pieces.length > 1) socket.cork();
    for (const piece of pieces) socket.write(piece);
    if (pieces.length > 1) socket.uncork();
    if (socket.writableLength === 0) this.#acksWaiting = 0;
  }

  readonly #flushLater = (): void => {
    this.#isFlushScheduled = false;
    this.flush();
  };

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    process.nextTick(this.#flushLater);
  }

  /** Streams send a frame each in turn, as far as windows and the socket allow. */
  #gatherData(): void {
    const sending = this.#sending;
    const capacity = SOCKET_BYTES_MAX - this.#socket.writableLength;
    while (sending.length > 0 && this.#writer.length < capacity) {
      const stream = sending[0]!;
      const bytes = Math.min(stream.waitingBytes, Math.max(0, stream.sendWindow), this.#window, this.#peer.frameBytesMax);
      if (stream.canSend && bytes <= 0 && stream.waitingBytes > 0) return; // The connection's window is used up.
      sending.shift();
      stream.isScheduled = false;
      if (stream.canSend) this.#data(stream, bytes);
    }
  }

  #data(stream: Http2Stream, bytes: number): void {
    const isEnd = stream.endsWithin(bytes);
    this.#window -= bytes;
    this.#writer.head(FrameType.data, isEnd ? Flag.endStream : 0, stream.id, bytes);
    stream.takeBytes(bytes, this.#writePiece);
    stream.sent(isEnd);
    this.schedule(stream);
  }

  readonly #writePiece = (piece: Uint8Array): void => this.#writer.bytes(piece);
}
