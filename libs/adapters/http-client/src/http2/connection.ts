/**
 * The client's side of one HTTP/2 connection with prior knowledge (RFC 9113). It pushes nothing and has no priorities.
 *
 * Written for the path of every attempt; decision 0058 has the measurements against Node's client.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { handleErrors } from "@perdure/base";
import type { DnsLookup } from "@perdure/egress";
import { areTrailers, type ResponseHead, responseHead } from "./field-rules.js";
import { type FrameReceiver, Http2FrameReader } from "./frame-reader.js";
import { type CompleteBlock, HeaderBlock } from "./header-block.js";
import { type DecodedFields, HpackDecoder } from "./hpack-decoder.js";
import { PeerSettings } from "./peer-settings.js";
import {
  ErrorCode,
  Flag,
  FrameType,
  Http2ProtocolError,
  INITIAL_FRAME_BYTES_MAX,
  protocolError,
  STREAM_ID_MAX,
  uint31At,
  uint32At,
  WINDOW_BYTES_MAX,
} from "./protocol.js";
import { Sender } from "./sender.js";
import { Http2Stream, type StreamConnection, type StreamReceiver } from "./stream.js";

/** Names and values of a response. */
const HEADER_LIST_BYTES_MAX = 64 * 1024;
/** A read gets at least so much space of its slab. */
const READ_BYTES_MIN = 16 * 1024;
const READ_SLAB_BYTES = 64 * 1024;
/** The part of a window that is read before it is reported to the peer. */
const REPORTED_SHARE = 0.5;

export interface ConnectionOptions {
  readonly isSecure: boolean;
  readonly hostname: string;
  readonly port: number;
  /** PEM certificates to trust instead of the system's. */
  readonly trustedCertificates: string | undefined;
  /** Finds the addresses of the host; undefined: the system's. */
  readonly lookup: DnsLookup | undefined;
  /** Bytes that the peer may send on a stream, and on all of them, before they are read. */
  readonly streamWindowBytes: number;
  readonly connectionWindowBytes: number;
}

export interface ConnectionReceiver {
  /** The socket is connected. */
  connected(socket: Socket): void;
  /** SETTINGS of the peer have arrived, the first or later ones. */
  settingsArrived(): void;
  /** The peer takes no more streams; those it has may run on. */
  goawayArrived(): void;
  /** The connection is over, for that reason unless it is undefined, and its streams know. Called once. */
  ended(cause: unknown): void;
  /** The socket is closed. Called last. */
  socketClosed(): void;
}

export class Http2Connection implements FrameReceiver, StreamConnection {
  readonly #receiver: ConnectionReceiver;
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #peer = new PeerSettings();
  readonly #sender: Sender;
  readonly #reader = new Http2FrameReader(this, INITIAL_FRAME_BYTES_MAX);
  readonly #decoder = new HpackDecoder(HEADER_LIST_BYTES_MAX);
  readonly #headerBlock = new HeaderBlock();
  readonly #streams = new Map<number, Http2Stream>();
  #lastStreamId = -1;
  /** Bytes that arrived and are not yet reported to the peer. */
  #unreported = 0;
  #pingAnswered: (() => void) | undefined;
  /** The last response's fields and head: the decoder returns the same fields for the same bytes. */
  #lastFields: DecodedFields | undefined;
  #lastHead: ResponseHead | undefined;
  #hasSettings = false;
  #hasGoaway = false;
  #isEnded = false;

  constructor(options: ConnectionOptions, receiver: ConnectionReceiver) {
    this.#options = options;
    this.#receiver = receiver;
    this.#socket = options.isSecure ? this.#connectTls() : this.#connectTcp();
    this.#sender = new Sender(this.#socket, this.#peer);
    this.#socket.on("end", () => this.destroy(undefined));
    this.#socket.on("drain", () => this.#sender.flush());
    this.#socket.on("close", () => {
      this.#end(undefined);
      this.#receiver.socketClosed();
    });
  }

  /** Streams that the peer takes at the same time. */
  get streamsMax(): number {
    return this.#peer.streamsMax;
  }

  /** It opens no more streams. */
  get isClosing(): boolean {
    return this.#hasGoaway || this.#isEnded || this.#lastStreamId >= STREAM_ID_MAX - 2;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  // ── calls of the user ──────────────────────────────────────────────────────────────────────────

  /**
   * Opens a stream with the headers of a request; the body follows by `write` and `end`. May only be called after the peer's first SETTINGS,
   * and not when it is closing.
   * @param fields names and values in turn, pseudo-headers first; `fieldProblem` must allow them
   */
  open(fields: readonly string[], receiver: StreamReceiver): Http2Stream {
    this.#lastStreamId += 2;
    const windows = { send: this.#peer.windowBytes, receive: this.#options.streamWindowBytes };
    const stream = new Http2Stream(this.#lastStreamId, windows, receiver, this);
    this.#streams.set(stream.id, stream);
    this.#sender.headers(stream.id, fields);
    return stream;
  }

  /** Sends a PING; `answered` is called when the peer has answered. One is under way at a time. */
  ping(answered: () => void): void {
    this.#pingAnswered = answered;
    this.#sender.ping();
  }

  /** Sends GOAWAY and ends this side of the socket. May only be called when no stream is open. */
  close(): void {
    if (this.#isEnded) return;
    this.#sender.goaway(ErrorCode.noError);
    this.#end(undefined);
    this.#socket.end();
  }

  /** Breaks the connection. The response of each stream is lost, unless it is complete. */
  destroy(cause: unknown): void {
    this.#end(cause);
    this.#socket.destroy();
  }

  #end(cause: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#reader.stop();
    for (const stream of [...this.#streams.values()]) stream.connectionLost(cause ?? "closed by the peer");
    this.#receiver.ended(cause);
  }

  // ── the socket ─────────────────────────────────────────────────────────────────────────────────

  /** Small reads share a slab, of which no byte is written twice: pieces of it may be kept. */
  #connectTcp(): Socket {
    const { hostname, port, lookup } = this.#options;
    let slab = Buffer.allocUnsafeSlow(READ_SLAB_BYTES);
    let at = 0;
    const buffer = (): Buffer => {
      if (slab.length - at < READ_BYTES_MIN) {
        slab = Buffer.allocUnsafeSlow(READ_SLAB_BYTES);
        at = 0;
      }
      return slab.subarray(at);
    };
    const callback = (bytes: number): boolean => {
      const chunk = slab.subarray(at, at + bytes);
      at += bytes;
      this.#read(chunk);
      return true;
    };
    const address = { host: hostname, port, ...(lookup === undefined ? {} : { lookup }) };
    const socket = connectTcp({ ...address, noDelay: true, onread: { buffer, callback } });
    handleErrors(socket, (cause) => this.destroy(cause));
    return socket.once("connect", () => this.#connected());
  }

  #connectTls(): Socket {
    const { hostname, port, lookup, trustedCertificates } = this.#options;
    const socket = connectTls({
      host: hostname,
      port,
      ALPNProtocols: ["h2"],
      ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
      ...(trustedCertificates === undefined ? {} : { ca: trustedCertificates }),
      ...(lookup === undefined ? {} : { lookup }),
    });
    handleErrors(socket, (cause) => this.destroy(cause));
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    return socket.once("secureConnect", () => this.#connected());
  }

  #connected(): void {
    if (this.#isEnded) return;
    this.#sender.begin(this.#options.streamWindowBytes, this.#options.connectionWindowBytes);
    this.#receiver.connected(this.#socket);
  }

  #read(chunk: Buffer): void {
    if (this.#isEnded) return;
    try {
      this.#reader.push(chunk);
    } catch (cause) {
      if (!(cause instanceof Http2ProtocolError)) throw cause;
      this.#sender.goaway(cause.errorCode);
      this.destroy(cause);
    }
  }

  // ── calls of streams ───────────────────────────────────────────────────────────────────────────

  wantsToSend(stream: Http2Stream): void {
    this.#sender.schedule(stream);
  }

  consumed(stream: Http2Stream, bytes: number): void {
    stream.unreported += bytes;
    const isEnough = stream.unreported >= this.#options.streamWindowBytes * REPORTED_SHARE;
    if (!isEnough || this.#isEnded || stream.isReceivingOver || stream.isClosed) return;
    this.#sender.windowUpdate(stream.id, stream.unreported);
    stream.receiveWindow += stream.unreported;
    stream.unreported = 0;
  }

  sendReset(stream: Http2Stream, errorCode: number): void {
    if (!this.#isEnded) this.#sender.reset(stream.id, errorCode);
  }

  closed(stream: Http2Stream): void {
    this.#streams.delete(stream.id);
  }

  // ── frames of the peer ─────────────────────────────────────────────────────────────────────────

  data(streamId: number, piece: Buffer, windowBytes: number, isEnd: boolean): void {
    this.#expect(FrameType.data);
    this.#arrived(windowBytes);
    const stream = this.#stream(streamId);
    if (stream === undefined) return;
    stream.receiveWindow -= windowBytes;
    const problem = dataProblem(stream);
    if (problem !== undefined) return this.#breakOff(stream, problem);
    const isRead = piece.length === 0 || stream.receive(piece);
    this.consumed(stream, isRead ? windowBytes : windowBytes - piece.length);
    if (isEnd) stream.receivedEnd();
  }

  frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.#expect(type);
    switch (type) {
      case FrameType.headers:
      case FrameType.continuation:
        return this.#headers(this.#headerBlock.add(type, flags, streamId, payload));
      case FrameType.rstStream:
        expectLength(type, payload, 4);
        return this.#stream(streamId)?.receivedReset(uint32At(payload, 0));
      case FrameType.settings:
        return this.#settings(flags, streamId, payload);
      case FrameType.pushPromise:
        throw protocolError("the peer pushes");
      case FrameType.ping:
        return this.#ping(flags, streamId, payload);
      case FrameType.goaway:
        return this.#goaway(streamId, payload);
      case FrameType.windowUpdate:
        expectLength(type, payload, 4);
        return this.#windowUpdate(streamId, uint31At(payload, 0));
      default: // PRIORITY, which is deprecated, and extensions (RFC 9113 §5.5).
    }
  }

  /** SETTINGS come first, and nothing comes between the frames of a header block. */
  #expect(type: number): void {
    if (!this.#hasSettings && type !== FrameType.settings) throw protocolError("the peer does not begin with SETTINGS");
    if (type !== FrameType.continuation) this.#headerBlock.expectNone();
  }

  /** The stream of a frame; undefined when it is closed. */
  #stream(streamId: number): Http2Stream | undefined {
    if (streamId > this.#lastStreamId || streamId % 2 === 0) throw protocolError(`there is no stream ${streamId}`);
    return this.#streams.get(streamId);
  }

  /**
   * What arrives counts as read for the connection at once, and for its stream when it is read: streams that are not read must not hold up
   * the others.
   */
  #arrived(bytes: number): void {
    this.#unreported += bytes;
    if (this.#unreported < this.#options.connectionWindowBytes * REPORTED_SHARE) return;
    this.#sender.windowUpdate(0, this.#unreported);
    this.#unreported = 0;
  }

  /** The peer breaks a rule on one stream. */
  #breakOff(stream: Http2Stream, errorCode: number): void {
    this.#sender.reset(stream.id, errorCode);
    stream.receivedReset(errorCode);
  }

  #headers(complete: CompleteBlock | undefined): void {
    if (complete === undefined) return;
    const decoded = this.#decoder.decode(complete.block);
    const stream = this.#stream(complete.streamId);
    if (stream === undefined) return;
    if (stream.isReceivingOver) return this.#breakOff(stream, ErrorCode.streamClosed);
    if (decoded.isTooLong) return this.#breakOff(stream, ErrorCode.enhanceYourCalm);
    if (stream.isAnswered) {
      if (!complete.isEnd || !areTrailers(decoded.fields)) return this.#breakOff(stream, ErrorCode.protocolError);
      return stream.receivedEnd();
    }
    if (decoded !== this.#lastFields) this.#lastHead = responseHead(decoded.fields);
    this.#lastFields = decoded;
    const head = this.#lastHead;
    const isInformational = head !== undefined && head.status < 200;
    if (head === undefined || (isInformational && complete.isEnd)) return this.#breakOff(stream, ErrorCode.protocolError);
    if (isInformational) return;
    stream.answer(head.status, head.headers, complete.isEnd);
    if (complete.isEnd) stream.receivedEnd();
  }

  #settings(flags: number, streamId: number, payload: Buffer): void {
    expectConnection(streamId);
    const isAck = (flags & Flag.ack) !== 0;
    if (!this.#hasSettings && isAck) throw protocolError("the peer does not begin with SETTINGS");
    if (isAck) return expectLength(FrameType.settings, payload, 0);
    const windowBytesBefore = this.#peer.windowBytes;
    this.#peer.apply(payload);
    this.#hasSettings = true;
    this.#sender.settingsChanged();
    this.#sender.acknowledge(FrameType.settings, new Uint8Array(0));
    const change = this.#peer.windowBytes - windowBytesBefore;
    if (change !== 0) for (const stream of this.#streams.values()) this.#widen(stream, change);
    this.#receiver.settingsArrived();
  }

  #ping(flags: number, streamId: number, payload: Buffer): void {
    expectConnection(streamId);
    expectLength(FrameType.ping, payload, 8);
    if ((flags & Flag.ack) === 0) return this.#sender.acknowledge(FrameType.ping, payload);
    const answered = this.#pingAnswered;
    this.#pingAnswered = undefined;
    answered?.();
  }

  /** Streams above the last one that it names are not processed (RFC 9113 §6.8). */
  #goaway(streamId: number, payload: Buffer): void {
    expectConnection(streamId);
    if (payload.length < 8) throw new Http2ProtocolError(ErrorCode.frameSizeError, `GOAWAY has ${payload.length} bytes`);
    this.#hasGoaway = true;
    const lastStreamId = uint31At(payload, 0);
    const errorCode = uint32At(payload, 4);
    for (const stream of [...this.#streams.values()]) if (stream.id > lastStreamId) stream.receivedReset(ErrorCode.refusedStream);
    if (errorCode === ErrorCode.noError) this.#receiver.goawayArrived();
    else this.destroy(new Error(`the peer ended the connection with error code ${errorCode}`));
  }

  #windowUpdate(streamId: number, bytes: number): void {
    if (streamId === 0) {
      if (bytes === 0) throw protocolError("a window grows by nothing");
      return this.#sender.widen(bytes);
    }
    const stream = this.#stream(streamId);
    if (stream === undefined) return;
    if (bytes === 0) this.#breakOff(stream, ErrorCode.protocolError);
    else this.#widen(stream, bytes);
  }

  #widen(stream: Http2Stream, bytes: number): void {
    stream.sendWindow += bytes;
    if (stream.sendWindow > WINDOW_BYTES_MAX) this.#breakOff(stream, ErrorCode.flowControlError);
    else this.#sender.schedule(stream);
  }
}

/** The error code for DATA that may not come now. */
function dataProblem(stream: Http2Stream): number | undefined {
  if (stream.isReceivingOver) return ErrorCode.streamClosed;
  if (stream.receiveWindow < 0) return ErrorCode.flowControlError;
  return stream.isAnswered ? undefined : ErrorCode.protocolError;
}

function expectLength(type: number, payload: Uint8Array, bytes: number): void {
  if (payload.length !== bytes)
    throw new Http2ProtocolError(ErrorCode.frameSizeError, `a frame of type ${type} has ${payload.length} bytes`);
}

function expectConnection(streamId: number): void {
  if (streamId !== 0) throw protocolError(`stream ${streamId} has a frame of the connection`);
}
