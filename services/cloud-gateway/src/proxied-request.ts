/**
 * A request on its way to a runtime and the answer on its way back. Both bodies stream, each at the pace of its receiver; a client that
 * disconnects aborts its request at the runtime; nothing is sent again once a byte was sent.
 *
 * client ─ body ─▸ [buffered when short] ─▸ runtime          client ◂─ body ─ [masked for read-only callers] ◂─ runtime
 */
import { type Clock, present } from "@perdure/base";
import { type EnvironmentFacts, RUNTIME_SECRET_HEADER, seesMasked } from "@perdure/cloud";
import { BodyMeter, type BodyReceiver } from "@perdure/http-server";
import type { Dispatcher } from "undici";
import { BodyStream } from "./body-stream.js";
import type { Forwarding, GatewayRequest } from "./gateway-request.js";
import { headersForCaller, headersForRuntime } from "./hygiene.js";
import {
  ADMIN_HEADERS_MS_MAX,
  BODY_BYTES_MAX,
  GATHERED_BODY_BYTES_MAX,
  INGRESS_ANSWER_MS_MAX,
  REWRITTEN_BYTES_MAX,
  STALLED_ANSWER_MS,
} from "./limits.js";
import { maskSecrets } from "./mask.js";
import * as refusal from "./refusal.js";
import { isQuery } from "./route.js";
import type { UpstreamPool } from "./upstreams.js";

export interface ProxiedRequestPorts {
  readonly clock: Clock;
  /** Answers instead of the runtime. */
  refuse(request: GatewayRequest, refused: refusal.GatewayRefusal): void;
  /** A connection could not be made and is attempted once more. */
  retried(): void;
}

type AnswerState =
  | { readonly kind: "none" | "streaming" | "ended" }
  | {
      readonly kind: "masking";
      readonly status: number;
      readonly headers: string[];
      readonly chunks: Uint8Array[];
      bytes: number;
    };

export class ProxiedRequest implements Dispatcher.DispatchHandler, BodyReceiver, Forwarding {
  readonly #ports: ProxiedRequestPorts;
  readonly #request: GatewayRequest;
  readonly #facts: EnvironmentFacts;
  readonly #upstream: UpstreamPool;
  readonly #bodyBytesMax: number;
  readonly #startedAtMs: number;
  #controller: Dispatcher.DispatchController | undefined;
  /** The runtime may have received a part of the request. */
  #sent = false;
  #attempts = 0;
  /** Neither side gets any more bytes. */
  #over = false;
  #released = false;
  #answer: AnswerState = { kind: "none" };

  /** The request's body: chunks until it is decided how it is sent, then a stream or one buffer. */
  #gathered: Uint8Array[] | undefined;
  #body: BodyStream | Buffer | null = null;
  #bodyEnded = false;
  #meter: BodyMeter | undefined;
  /** Time since which the client reads nothing; undefined while it reads. */
  #stalledAtMs: number | undefined;

  constructor(ports: ProxiedRequestPorts, request: GatewayRequest, facts: EnvironmentFacts, upstream: UpstreamPool) {
    this.#ports = ports;
    this.#request = request;
    this.#facts = facts;
    this.#upstream = upstream;
    this.#bodyBytesMax = Math.min(BODY_BYTES_MAX, facts.limits.bodyBytesMax);
    this.#startedAtMs = ports.clock.monotonicMs();
    upstream.active++;
  }

  start(): void {
    const { head, exchange } = this.#request;
    if (exchange.bodyIsComplete && !head.isChunked && (head.contentLength ?? 0) === 0) return this.#dispatch();
    this.#gathered = [];
    this.#meter = new BodyMeter(this.#startedAtMs);
    exchange.startBody(this);
    const isShort = head.contentLength !== undefined && head.contentLength <= GATHERED_BODY_BYTES_MAX;
    // A short body without a length often arrives completely with the headers.
    if (!isShort && !this.#bodyEnded) setImmediate(() => this.#stream());
  }

  // ── the request's body ───────────────────────────────────────────────────────────────────────────

  data(chunk: Uint8Array): void {
    if (this.#over || this.#answer.kind === "ended") return;
    this.#request.bytesIn += chunk.length;
    this.#meter?.count(chunk.length);
    if (this.#request.bytesIn > this.#bodyBytesMax) return this.#refuse(refusal.bodyTooLarge(this.#bodyBytesMax));
    if (this.#gathered !== undefined) this.#gathered.push(chunk);
    else if (this.#body instanceof BodyStream) this.#body.feed(chunk);
  }

  end(): void {
    if (this.#over || this.#bodyEnded) return;
    this.#bodyEnded = true;
    this.#meter = undefined;
    if (this.#body instanceof BodyStream) return this.#body.finish();
    const chunks = this.#gathered ?? [];
    this.#gathered = undefined;
    this.#body = chunks.length === 0 ? null : asBuffer(chunks.length === 1 ? present(chunks[0]) : Buffer.concat(chunks));
    this.#dispatch();
  }

  #stream(): void {
    if (this.#over || this.#bodyEnded) return;
    const body = new BodyStream({
      pauseBody: () => {
        this.#meter?.pause();
        this.#request.exchange.pauseBody();
      },
      resumeBody: () => {
        if (this.#meter !== undefined) this.#meter.paused = false;
        this.#request.exchange.resumeBody();
      },
    });
    // The request to the runtime reports the same errors.
    body.on("error", () => undefined);
    for (const chunk of this.#gathered ?? []) body.feed(chunk);
    this.#gathered = undefined;
    this.#body = body;
    this.#dispatch();
  }

  // ── the runtime ──────────────────────────────────────────────────────────────────────────────────

  #dispatch(): void {
    const { endpoint, head, exchange, remoteAddress, requestId, foreignAuthorization } = this.#request;
    this.#attempts++;
    const { isSecure } = exchange;
    const traceparent = this.#request.span?.traceparent;
    const isRewritten = this.#mayMask();
    const headers = headersForRuntime(head, {
      endpoint,
      remoteAddress,
      isSecure,
      requestId,
      foreignAuthorization,
      traceparent,
      isRewritten,
    });
    const secret = this.#facts.upstream?.secret;
    if (secret !== undefined) headers.push(RUNTIME_SECRET_HEADER, secret.reveal());
    if (this.#body instanceof BodyStream && head.contentLength !== undefined) {
      headers.push("content-length", String(head.contentLength));
    }
    this.#upstream.pool.dispatch(
      { method: head.method as Dispatcher.HttpMethod, path: head.target, headers, body: this.#body },
      this,
    );
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#sent = true;
    this.#controller = controller;
    if (this.#over) controller.abort(CLIENT_GONE);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHeaders): void {
    if (this.#over || status < 200) return;
    const { endpoint, exchange } = this.#request;
    const isJson = /\bjson\b/i.test(String(headers["content-type"] ?? ""));
    if (endpoint === "admin" && status >= 400 && !isJson && this.#request.head.method !== "HEAD") {
      return this.#refuse(refusal.ofStatus(status));
    }
    const masks = isJson && this.#mayMask();
    const list = headersForCaller(headers, {
      requestId: this.#request.requestId,
      isSecure: exchange.isSecure,
      cors: this.#request.cors,
      inside: this.#insideOrigins(),
      outside: endpoint === "ingress" ? this.#facts.ingressUrl : this.#facts.adminUrl,
      isRewritten: masks,
    });
    if (masks) {
      this.#answer = { kind: "masking", status, headers: list, chunks: [], bytes: 0 };
      return;
    }
    this.#answer = STREAMING;
    this.#request.status = status;
    exchange.start(status, list);
  }

  /** Answers to SQL statements contain no secrets, and may have many rows. */
  #mayMask(): boolean {
    const { caller, endpoint, head } = this.#request;
    return caller !== undefined && seesMasked(caller) && !isQuery(endpoint, head.path);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#over) return;
    if (this.#answer.kind === "masking") {
      this.#answer.bytes += chunk.length;
      this.#answer.chunks.push(chunk);
      if (this.#answer.bytes > REWRITTEN_BYTES_MAX) this.#refuse(refusal.brokenAnswer);
      return;
    }
    if (this.#answer.kind !== "streaming") return;
    this.#request.bytesOut += chunk.length;
    if (this.#request.exchange.write(chunk)) return;
    this.#stalledAtMs = this.#ports.clock.monotonicMs();
    controller.pause();
  }

  onResponseEnd(): void {
    this.#release();
    if (this.#over) return;
    this.#over = true;
    this.#answer.kind === "masking" ? this.#sendMasked(this.#answer) : this.#request.exchange.end();
    this.#answer = ENDED;
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    if (this.#over) return this.#release();
    if (this.#answer.kind === "streaming") {
      this.#over = true;
      this.#release();
      return this.#request.abort();
    }
    const code = "code" in cause ? cause.code : undefined;
    if (code === "UND_ERR_INVALID_ARG") return this.#refuse(refusal.malformed("A header or the path is malformed"));
    if (this.#sent) return this.#refuse(refusal.brokenAnswer);
    if (this.#attempts > 1) return this.#refuse(refusal.unreachable);
    this.#ports.retried(); // No byte was sent, so the runtime has not received the request.
    this.#dispatch();
  }

  // ── the client ───────────────────────────────────────────────────────────────────────────────────

  drained(): void {
    if (this.#stalledAtMs === undefined) return;
    this.#stalledAtMs = undefined;
    this.#controller?.resume();
  }

  abandoned(): void {
    this.#over = true;
    this.#stop();
  }

  // ── time ─────────────────────────────────────────────────────────────────────────────────────────

  /** Called every second. */
  sweep(nowMs: number): void {
    if (this.#over) return;
    if (this.#meter?.isTooSlow(nowMs) === true) return this.#refuse(refusal.slowRequest);
    if (this.#stalledAtMs !== undefined && nowMs - this.#stalledAtMs > STALLED_ANSWER_MS)
      return this.#refuse(refusal.answerTimeout);
    const { endpoint, head } = this.#request;
    const timeoutMs = endpoint === "ingress" ? INGRESS_ANSWER_MS_MAX : ADMIN_HEADERS_MS_MAX;
    const waits = this.#answer.kind === "none" || endpoint === "ingress";
    if (waits && nowMs - this.#startedAtMs > timeoutMs && !(endpoint === "admin" && isQuery(endpoint, head.path))) {
      this.#refuse(refusal.answerTimeout);
    }
  }

  // ── ends ─────────────────────────────────────────────────────────────────────────────────────────

  /** Refuses instead of the runtime's answer; breaks off an answer that has begun. */
  #refuse(refused: refusal.GatewayRefusal): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#request.exchange.headersSent) this.#request.abort();
    else this.#ports.refuse(this.#request, refused);
    this.#stop();
  }

  #stop(): void {
    this.#gathered = undefined;
    this.#meter = undefined;
    if (this.#body instanceof BodyStream) this.#body.destroy();
    this.#controller?.abort(CLIENT_GONE);
    this.#release();
  }

  #release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#upstream.active--;
  }

  #sendMasked({ status, headers, chunks }: AnswerState & { readonly kind: "masking" }): void {
    const masked = maskSecrets(Buffer.concat(chunks).toString("utf8"));
    if (masked === undefined && this.#request.head.method !== "HEAD")
      return this.#ports.refuse(this.#request, refusal.brokenAnswer);
    this.#request.status = status;
    this.#request.bytesOut += masked?.length ?? 0;
    this.#request.exchange.send(status, headers, masked ?? "");
  }

  #insideOrigins(): readonly string[] {
    const { upstream } = this.#facts;
    return upstream === undefined ? [] : [upstream.ingress, upstream.admin];
  }
}

type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const STREAMING: AnswerState = { kind: "streaming" };
const ENDED: AnswerState = { kind: "ended" };
const CLIENT_GONE = new Error("the client has left");

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
