/** A transport without a network: tests see what was written to each stream and play the endpoint by hand. */
import { EMPTY_BYTES } from "@perdure/base";
import {
  commandTypeOf,
  encodeCommand,
  encodeControl,
  encodeFrame,
  type Frame,
  FrameDecoder,
  invocationContentType,
  isSupportedVersion,
  type JournalCommand,
  MessageType,
  type ProtocolVersion,
  type SdkControlMessage,
} from "@perdure/service-protocol";
import type {
  EndpointStream,
  EndpointTransport,
  StreamListener,
  StreamRequest,
  TransportFailure,
} from "../endpoint-transport.js";

const controlTypes: Readonly<Record<SdkControlMessage["kind"], number>> = {
  suspension: MessageType.Suspension,
  error: MessageType.Error,
  end: MessageType.End,
  proposeRunCompletion: MessageType.ProposeRunCompletion,
  awaitingOn: MessageType.AwaitingOn,
};

export class FakeStream implements EndpointStream {
  readonly request: StreamRequest;
  readonly listener: StreamListener;
  readonly writes: Uint8Array[] = [];
  ended = false;
  aborted = false;
  readingPaused = false;
  /** The result of `write`. */
  writable = true;
  readonly #decoder = new FrameDecoder();
  readonly #frames: Frame[] = [];
  #readCount = 0;

  constructor(request: StreamRequest, listener: StreamListener) {
    this.request = request;
    this.listener = listener;
  }

  write(bytes: Uint8Array): boolean {
    this.writes.push(bytes);
    this.#decoder.push(bytes);
    for (let frame = this.#decoder.next(); frame !== undefined; frame = this.#decoder.next()) this.#frames.push(frame);
    return this.writable;
  }
  end(): void {
    this.ended = true;
  }
  abort(): void {
    this.aborted = true;
  }
  carriesLargeMessage: (isLarge: boolean) => void = () => undefined;
  pauseReading(): void {
    this.readingPaused = true;
  }
  resumeReading(): void {
    this.readingPaused = false;
  }

  get version(): ProtocolVersion {
    const version = Number(this.request.headers["content-type"]?.at(-1));
    if (!isSupportedVersion(version)) throw new Error("the request names no supported version");
    return version;
  }

  /** All frames written so far. */
  get frames(): readonly Frame[] {
    return this.#frames;
  }

  /** Frames written since the last call. */
  newFrames(): Frame[] {
    const from = this.#readCount;
    this.#readCount = this.#frames.length;
    return this.#frames.slice(from);
  }

  // ── the endpoint's side ────────────────────────────────────────────────────────────────────────

  /** The response's head; by default that of a correct endpoint. */
  respond(status = 200, headers: Record<string, string> = {}): this {
    this.listener.response(status, {
      "content-type": invocationContentType(this.version),
      "x-restate-server": "test/1",
      ...headers,
    });
    return this;
  }
  frame(type: number, body: Uint8Array = EMPTY_BYTES, flags = 0): this {
    this.listener.data(encodeFrame(type, body, flags));
    return this;
  }
  command(command: JournalCommand, flags = 0): this {
    return this.frame(commandTypeOf[command.kind], encodeCommand(command), flags);
  }
  control(message: SdkControlMessage, flags = 0): this {
    return this.frame(controlTypes[message.kind], encodeControl(message, this.version), flags);
  }
  /** Output and End. */
  finish(value = "done"): this {
    this.command({ kind: "output", result: { kind: "value", value: new TextEncoder().encode(value) }, name: "" });
    return this.control({ kind: "end" });
  }
  fails(message: string, more: Partial<Extract<SdkControlMessage, { kind: "error" }>> = {}): this {
    return this.control({
      kind: "error",
      code: 500,
      message,
      stacktrace: "",
      relatedCommandIndex: undefined,
      relatedCommandName: undefined,
      relatedCommandType: undefined,
      nextRetryDelayMs: undefined,
      behavior: "retry",
      ...more,
    });
  }
  close(): void {
    this.listener.end();
  }
  breakOff(failure: TransportFailure): void {
    this.listener.failed(failure);
  }
}

export class FakeTransport implements EndpointTransport {
  readonly streams: FakeStream[] = [];
  /** Prepares each new stream before it is written to. */
  onOpen: (stream: FakeStream) => void = () => {};

  open(request: StreamRequest, listener: StreamListener): FakeStream {
    const stream = new FakeStream(request, listener);
    this.onOpen(stream);
    this.streams.push(stream);
    return stream;
  }

  /** The stream opened last. */
  get last(): FakeStream {
    const stream = this.streams.at(-1);
    if (stream === undefined) throw new Error("no stream was opened");
    return stream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of this.streams) stream.abort();
  }
}
