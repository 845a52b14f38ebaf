/**
 * Endpoints without an SDK, which write frames by hand and can break any rule of the protocol. One endpoint has one service per script; a
 * script gets the open stream of an attempt.
 */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { utf8 } from "@perdure/base";
import {
  commandTypeOf,
  decodeNotification,
  decodeStart,
  encodeCommand,
  encodeControl,
  encodeFrame,
  type Frame,
  FrameDecoder,
  type JournalCommand,
  MessageType,
  type Notification,
  type ProtocolVersion,
  type SdkControlMessage,
  type StartMessage,
} from "@perdure/service-protocol";
import { TestListener } from "./sdk-endpoint.js";

/** The JSON of a manifest, valid or not. */
export type RawManifest = Readonly<Record<string, unknown>>;

export type AttemptScript = (attempt: RawAttempt) => void | Promise<void>;

const CONTROL_TYPES: Readonly<Record<SdkControlMessage["kind"], number>> = {
  suspension: MessageType.Suspension,
  error: MessageType.Error,
  end: MessageType.End,
  proposeRunCompletion: MessageType.ProposeRunCompletion,
  awaitingOn: MessageType.AwaitingOn,
};

/** The endpoint's side of one attempt. Nothing is sent that the script does not send. */
export class RawAttempt {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Number of this attempt for its script, from 1. */
  readonly number: number;
  readonly #decoder = new FrameDecoder();
  readonly #frames: Frame[] = [];
  #wake: () => void = () => {};
  #ended = false;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, number: number) {
    this.stream = stream;
    this.headers = headers;
    this.number = number;
    // The server resets streams of attempts that it has abandoned, which these scripts provoke.
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => {
      this.#decoder.push(chunk);
      for (let frame = this.#decoder.next(); frame !== undefined; frame = this.#decoder.next()) this.#frames.push(frame);
      this.#wake();
    });
    for (const event of ["end", "close", "aborted"]) {
      stream.on(event, () => {
        this.#ended = true;
        this.#wake();
      });
    }
  }

  /** `application/vnd.restate.invocation.vN` of this attempt. */
  get contentType(): string {
    return this.headers["content-type"] ?? "";
  }

  get version(): ProtocolVersion {
    return Number(this.contentType.slice(-1)) as ProtocolVersion;
  }

  /** Sends response headers; valid ones by default. */
  open(status = 200, headers: Readonly<Record<string, string | undefined>> = {}): this {
    if (this.stream.closed || this.stream.destroyed) return this;
    const sent: Record<string, string | number> = { ":status": status };
    const all: Readonly<Record<string, string | undefined>> = { "content-type": this.contentType, ...headers };
    for (const [name, value] of Object.entries(all)) if (value !== undefined) sent[name] = value;
    this.stream.respond(sent);
    return this;
  }

  bytes(bytes: Uint8Array): this {
    if (!this.stream.destroyed && !this.stream.writableEnded) this.stream.write(bytes);
    return this;
  }

  frame(type: number, body: Uint8Array = new Uint8Array(), flags = 0): this {
    return this.bytes(encodeFrame(type, body, flags));
  }

  command(command: JournalCommand, flags = 0): this {
    return this.frame(commandTypeOf[command.kind], encodeCommand(command), flags);
  }

  control(message: SdkControlMessage, flags = 0): this {
    return this.frame(CONTROL_TYPES[message.kind], encodeControl(message, this.version), flags);
  }

  /** Suspends until any of the completions arrives. */
  suspend(...completions: number[]): void {
    this.control({
      kind: "suspension",
      awaitingOn: { completions, signalIndexes: [1], signalNames: [], nested: [], combinator: "firstCompleted" },
    });
    this.end();
  }

  /** Sends Output and End, as a handler that returns. */
  return(value: string): void {
    this.command({ kind: "output", result: { kind: "value", value: utf8(value) }, name: "" });
    this.control({ kind: "end" });
    this.end();
  }

  end(): void {
    if (!this.stream.destroyed) this.stream.end();
  }

  /** Resets the stream; a plain `close` would end the response first. */
  reset(): void {
    this.stream.destroy(new Error("reset"));
  }

  /** The next frame from the server; undefined when it has closed its side. */
  async next(): Promise<Frame | undefined> {
    while (this.#frames.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#frames.shift();
  }

  /** Reads the start of an attempt: the start message and the replayed journal. */
  async replay(): Promise<{ readonly start: StartMessage; readonly entries: readonly Frame[] }> {
    const first = await this.next();
    const start = first === undefined ? undefined : decodeStart(first.body);
    if (start === undefined || start.kind === "fault") throw new Error(`no start message: ${JSON.stringify(start)}`);
    const entries: Frame[] = [];
    while (entries.length < start.knownEntries) {
      const entry = await this.next();
      if (entry === undefined) throw new Error(`the replay ended after ${entries.length} of ${start.knownEntries} entries`);
      entries.push({ ...entry, body: new Uint8Array(entry.body) });
    }
    return { start, entries };
  }

  /** The next frame as a completion or signal. */
  async notification(): Promise<Notification> {
    const frame = await this.next();
    const decoded = frame === undefined ? undefined : decodeNotification(frame.type, frame.body);
    if (decoded === undefined || decoded.kind === "fault") throw new Error(`no notification: ${frame?.type.toString(16)}`);
    return decoded;
  }

  /** Resolves when the server has closed its side. */
  async untilEnded(): Promise<void> {
    while ((await this.next()) !== undefined);
  }
}

export interface RawEndpointOptions {
  /** One service each, with the one handler `run`. */
  readonly scripts: Readonly<Record<string, AttemptScript>>;
  /** Further fields of every service of the manifest, e.g. timeouts and the retry policy. */
  readonly service?: RawManifest;
  readonly manifest?: RawManifest;
  /** Answer to discovery instead of the manifest. */
  readonly discovery?: { readonly status?: number; readonly contentType?: string; readonly body?: string };
}

export function manifestOf(services: readonly string[], service: RawManifest = {}, manifest: RawManifest = {}): RawManifest {
  return {
    protocolMode: "BIDI_STREAM",
    minProtocolVersion: 5,
    maxProtocolVersion: 7,
    services: services.map((name) => ({
      name,
      ty: "SERVICE",
      handlers: [
        { name: "run", ty: "SHARED", input: { required: false, contentType: "*/*" }, output: { contentType: "text/plain" } },
      ],
      ...service,
    })),
    ...manifest,
  };
}

export const MANIFEST_TYPE = "application/vnd.restate.endpointmanifest.v4+json";

export class RawEndpoint implements AsyncDisposable {
  readonly url: string;
  readonly #listener: TestListener;
  readonly #attempts: Map<string, number>;

  /** Errors that scripts have thrown. */
  readonly failures: readonly unknown[];

  private constructor(listener: TestListener, attempts: Map<string, number>, failures: readonly unknown[]) {
    this.failures = failures;
    this.#listener = listener;
    this.#attempts = attempts;
    this.url = `http://127.0.0.1:${listener.port}`;
  }

  static async start({ scripts, service, manifest, discovery }: RawEndpointOptions): Promise<RawEndpoint> {
    const attempts = new Map<string, number>();
    const failures: unknown[] = [];
    const body = discovery?.body ?? JSON.stringify(manifestOf(Object.keys(scripts), service, manifest));
    const head = { ":status": discovery?.status ?? 200, "content-type": discovery?.contentType ?? MANIFEST_TYPE };
    const server = createServer();
    server.on("stream", (stream, headers) => {
      const path = headers[":path"] ?? "";
      if (path === "/discover") {
        stream.respond(head);
        stream.end(body);
        return;
      }
      const name = path.split("/")[2] ?? "";
      const number = (attempts.get(name) ?? 0) + 1;
      attempts.set(name, number);
      const script = scripts[name];
      if (script === undefined) throw new Error(`no script for ${path}`);
      // A script that fails ends its attempt, and the test reads the error.
      const attempt = new RawAttempt(stream, headers, number);
      Promise.resolve(script(attempt)).catch((cause: unknown) => {
        failures.push(cause);
        attempt.reset();
      });
    });
    return new RawEndpoint(await TestListener.open(server, 0), attempts, failures);
  }

  /** Number of attempts of a script. */
  attempts(service: string): number {
    return this.#attempts.get(service) ?? 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#listener.close();
  }
}
