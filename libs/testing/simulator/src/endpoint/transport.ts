/** Streams between a leader and the simulated endpoints: bytes arrive in order, late, cut anywhere, or not at all. */
import { concatBytes, type InvocationId } from "@perdure/base";
import type { EndpointStream, EndpointTransport, StreamListener, StreamRequest } from "@perdure/endpoint-transport";
import { FrameDecoder, isSupportedVersion, MessageType, messageTypeName, type ProtocolVersion } from "@perdure/service-protocol";
import type { AttemptRecord } from "../ledger/attempts.js";
import { Pipe } from "../scheduler.js";
import type { SimulatedWorld } from "../world.js";
import { drawFate, type Fate } from "./misfortune.js";
import { EndpointSession, type Outside, type ResponseWriter } from "./session.js";

/** The leader a stream belongs to. */
export interface StreamOwner {
  readonly name: string;
  readonly alive: boolean;
  /** Whether no other leader has claimed the invocation's partition since. */
  leads(id: InvocationId): boolean;
}

export class SimulatedTransport implements EndpointTransport {
  readonly #world: SimulatedWorld;
  readonly #owner: StreamOwner;
  readonly #outside: Outside;
  readonly #streams = new Set<SimulatedStream>();

  constructor(world: SimulatedWorld, owner: StreamOwner, outside: Outside) {
    this.#world = world;
    this.#owner = owner;
    this.#outside = outside;
  }

  open(request: StreamRequest, listener: StreamListener): EndpointStream {
    const attempt = this.#world.ledger.attempts.opened(this.#owner, request);
    const stream = new SimulatedStream(this.#world, this.#owner, attempt, request, listener, this.#outside);
    this.#streams.add(stream);
    return stream;
  }

  /** Attempts whose handler has been blocked with its stream open since `sinceMs` or longer. */
  blockedSince(sinceMs: number): string[] {
    const names: string[] = [];
    for (const stream of this.#streams) {
      const blockedSinceMs = stream.blockedSinceMs;
      if (blockedSinceMs !== undefined && blockedSinceMs <= sinceMs) names.push(stream.name);
    }
    return names;
  }

  /** The leader's process is gone: its connections break, and endpoints are notified some time later. */
  crashed(): void {
    for (const stream of this.#streams) stream.crashed();
    this.#streams.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.crashed();
  }
}

type FromServer = { readonly kind: "data"; readonly bytes: Uint8Array } | { readonly kind: "end" } | { readonly kind: "reset" };
type FromEndpoint =
  | { readonly kind: "head"; readonly status: number; readonly headers: Readonly<Record<string, string | undefined>> }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  | { readonly kind: "failed"; readonly failure: "connect" | "reset"; readonly message: string };

class SimulatedStream implements EndpointStream, ResponseWriter {
  readonly #world: SimulatedWorld;
  readonly #owner: StreamOwner;
  readonly #attempt: AttemptRecord;
  readonly #listener: StreamListener;
  readonly #request: Pipe<FromServer>;
  readonly #response: Pipe<FromEndpoint>;
  readonly #version: ProtocolVersion;
  readonly #fate: Fate;
  readonly #session: EndpointSession;
  /** Decodes the same bytes as the server, to detect when the server has received the attempt's last frame. */
  readonly #responseDecoder = new FrameDecoder();
  #headSent = false;
  #requestOver = false;
  #responseOver = false;
  /** Bytes written in this step, cut into chunks at its end. */
  #written: Uint8Array[] = [];

  constructor(
    world: SimulatedWorld,
    owner: StreamOwner,
    attempt: AttemptRecord,
    request: StreamRequest,
    listener: StreamListener,
    outside: Outside,
  ) {
    this.#world = world;
    this.#owner = owner;
    this.#attempt = attempt;
    this.#listener = listener;
    this.#version = versionOf(request);
    this.#fate = drawFate(world);
    const { endpointMs } = world.settings;
    this.#request = new Pipe<FromServer>(world.scheduler, endpointMs, (item) => this.#atEndpoint(item));
    this.#response = new Pipe<FromEndpoint>(world.scheduler, endpointMs, (item) => this.#atServer(item));
    this.#session = new EndpointSession(world, attempt, this.#version, this, outside, this.#fate.misfortune);
    world.trace.note(
      "open",
      () =>
        `${owner.name} ${attempt.name} v${this.#version} ${request.requestResponse ? "request/response" : "bidi"}${fateText(this.#fate)}`,
    );
    const { refusal } = this.#fate;
    if (refusal?.kind === "connect") this.#response.push({ kind: "failed", failure: "connect", message: "connection refused" });
    if (refusal?.kind === "status") {
      this.#head(refusal.status, refusal.headers);
      this.#response.push({ kind: "end" });
    }
  }

  get name(): string {
    return this.#attempt.name;
  }

  /** Time since which the endpoint is blocked while the leader reads the stream. */
  get blockedSinceMs(): number | undefined {
    return this.#attempt.aborted || this.#attempt.responseOver || this.#requestOver ? undefined : this.#session.blockedSinceMs;
  }

  // ── calls of the server ────────────────────────────────────────────────────────────────────────

  write(bytes: Uint8Array): boolean {
    if (this.#requestOver) return true;
    const { scheduler } = this.#world;
    for (const chunk of this.#cut(new Uint8Array(bytes))) this.#request.push({ kind: "data", bytes: chunk });
    if (!scheduler.random.chance(0.05)) return true;
    scheduler.after(scheduler.latency(this.#world.settings.endpointMs), () => {
      if (this.#owner.alive && !this.#attempt.aborted) this.#listener.drain();
    });
    return false;
  }

  end(): void {
    if (this.#requestOver) return;
    this.#requestOver = true;
    this.#request.push({ kind: "end" });
  }

  abort(): void {
    if (this.#attempt.aborted) return;
    this.#world.trace.note("abort", () => `${this.#owner.name} ${this.#attempt.name}`);
    this.#world.ledger.attempts.aborted(this.#attempt);
    this.#response.break();
    this.#requestOver = true;
    this.#request.push({ kind: "reset" });
  }

  pauseReading(): void {
    this.#response.pause();
  }
  resumeReading(): void {
    this.#response.resume();
  }

  crashed(): void {
    this.#response.break();
    this.#requestOver = true;
    this.#request.push({ kind: "reset" });
  }

  #atServer(item: FromEndpoint): void {
    if (!this.#owner.alive || this.#attempt.aborted) return;
    switch (item.kind) {
      case "head":
        return this.#listener.response(item.status, item.headers);
      case "data":
        this.#readAlong(item.bytes);
        return this.#listener.data(item.bytes);
      case "end":
        this.#world.ledger.attempts.responseOver(this.#attempt);
        return this.#listener.end();
      case "failed":
        this.#request.break();
        this.#session.gone();
        this.#world.ledger.attempts.responseOver(this.#attempt);
        return this.#listener.failed({ kind: item.failure, message: item.message });
    }
  }

  #readAlong(bytes: Uint8Array): void {
    this.#responseDecoder.push(bytes);
    for (let frame = this.#responseDecoder.next(); frame !== undefined; frame = this.#responseDecoder.next()) {
      const { type } = frame;
      if (type !== MessageType.Suspension && type !== MessageType.Error && type !== MessageType.End) continue;
      this.#world.trace.note("sent", () => `${this.#attempt.name} ${messageTypeName(type)}`);
      this.#world.ledger.attempts.responseOver(this.#attempt);
    }
  }

  // ── calls of the endpoint ──────────────────────────────────────────────────────────────────────

  #atEndpoint(item: FromServer): void {
    if (this.#fate.refusal !== undefined) return;
    switch (item.kind) {
      case "data":
        // Some servers send their head at once, others with their first frame.
        if (!this.#headSent && this.#world.scheduler.random.chance(0.5)) this.#accept();
        return this.#session.received(item.bytes);
      case "end":
        return this.#session.requestEnded();
      case "reset":
        this.#responseOver = true;
        return this.#session.gone();
    }
  }

  respond(bytes: Uint8Array): void {
    if (this.#responseOver) return;
    if (!this.#headSent) this.#accept();
    if (this.#written.push(bytes) === 1) queueMicrotask(() => this.#flush());
  }

  breakOff(message: string): void {
    if (this.#responseOver) return;
    this.#flush();
    this.#responseOver = true;
    this.#response.push({ kind: "failed", failure: "reset", message });
  }

  #flush(): void {
    if (this.#written.length === 0) return;
    const bytes = this.#written.length === 1 ? (this.#written[0] as Uint8Array) : concatBytes(...this.#written);
    this.#written = [];
    for (const chunk of this.#cut(bytes)) this.#response.push({ kind: "data", bytes: chunk });
  }

  finish(): void {
    if (this.#responseOver) return;
    if (!this.#headSent) this.#accept();
    this.#flush();
    this.#responseOver = true;
    this.#response.push({ kind: "end" });
  }

  #accept(): void {
    this.#head(200, {
      "content-type": `application/vnd.restate.invocation.v${this.#version}`,
      "x-restate-server": "simulated/1.0",
    });
  }

  #head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#headSent = true;
    this.#response.push({ kind: "head", status, headers });
  }

  /** Cuts anywhere: transports do not keep frames together. */
  #cut(bytes: Uint8Array): Uint8Array[] {
    const { random } = this.#world.scheduler;
    if (bytes.length < 2 || !random.chance(0.15)) return bytes.length === 0 ? [] : [bytes];
    const at = 1 + random.below(bytes.length - 1);
    return [bytes.subarray(0, at), bytes.subarray(at)];
  }
}

function versionOf(request: StreamRequest): ProtocolVersion {
  const version = Number(request.headers["content-type"]?.at(-1));
  if (!isSupportedVersion(version)) throw new Error("a request names its protocol version");
  return version;
}

function fateText({ refusal, misfortune }: Fate): string {
  if (refusal !== undefined) return ` fated: ${refusal.kind === "status" ? refusal.status : refusal.kind}`;
  return misfortune === undefined ? "" : ` fated: ${misfortune.kind} after ${misfortune.afterCommands} commands`;
}
