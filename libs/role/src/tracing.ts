/**
 * Why: the spans of an invocation's life. The ingress starts a trace (or joins the caller's), each attempt is a child of its
 * invocation, and so is each invocation that a handler calls. Ids travel inside the invocation, so spans are recorded when
 * something ends and join up even when the server was restarted in between.
 */
import { type Clock, type InvocationId, type Logger, parseInvocationId, type Random, toHex } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { EndpointTransport, StreamListener, StreamRequest } from "@perdure/invoker";
import type { Invocation, Target, TraceContext } from "@perdure/partition";
import { TRACED_INVOCATIONS_MAX } from "./limits.js";
import type { SpanRecord, Tracer } from "./telemetry.js";

export interface TracingPorts {
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Gives an invocation its trace context, from its caller's if that has one. */
export type StartSpan = (caller: TraceContext | undefined, target: Target, id: InvocationId) => TraceContext | undefined;

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

function idsOf(traceparent: string | undefined): SpanIds | undefined {
  const parts = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  if (parts === null) return undefined;
  return { traceId: parts[1]!, spanId: parts[2]!, sampled: (Number.parseInt(parts[3]!, 16) & 1) === 1 };
}

function randomHex(random: Random, bytes: number): string {
  const into = new Uint8Array(bytes);
  random.bytes(into);
  return toHex(into);
}

/** For the ingress: a span for each invocation it starts. A caller that is not sampled stays so. */
export function invocationSpans({ tracer, clock, random }: TracingPorts): StartSpan {
  return (caller, target, id): TraceContext => {
    const parent = idsOf(caller?.traceparent);
    const traceId = parent?.traceId ?? randomHex(random, 16);
    const spanId = randomHex(random, 8);
    const sampled = parent?.sampled ?? true;
    const nowMs = clock.nowMs();
    if (sampled) {
      tracer.record({
        name: `invocation-start ${target.service}/${target.handler}`,
        kind: "internal",
        traceId,
        spanId,
        parentSpanId: parent?.spanId,
        startMs: nowMs,
        endMs: nowMs,
        attributes: attributesOf(target, id),
        error: undefined,
      });
    }
    return { traceparent: `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`, tracestate: caller?.tracestate };
  };
}

function attributesOf(
  target: { readonly service: string; readonly handler: string },
  id: InvocationId,
): SpanRecord["attributes"] {
  return {
    "perdure.invocation.id": id,
    "perdure.invocation.target": `${target.service}/${target.handler}`,
    "rpc.service": target.service,
    "rpc.method": target.handler,
  };
}

/** A transport whose invocation attempts leave spans. `partitions` is asked for an attempt's invocation, hence for its parent. */
export function tracedTransport(
  inner: EndpointTransport,
  partitions: () => Partitions | undefined,
  ports: TracingPorts,
): EndpointTransport {
  const attempts = new AttemptSpans(partitions, ports);
  return {
    open(request, listener) {
      const ids = idsOf(request.headers["traceparent"]);
      const invocation = parseInvocationId(request.headers["x-restate-invocation-id"] ?? "");
      if (ids === undefined || !ids.sampled || !invocation.ok) return inner.open(request, listener);
      const spans = attempts.begin(request, ids, invocation.value);
      const stream = inner.open(request, new TracedListener(listener, (error) => spans.end(error)));
      return {
        write: (bytes) => stream.write(bytes),
        end: () => stream.end(),
        abort() {
          spans.end("aborted");
          stream.abort();
        },
        pauseReading: () => stream.pauseReading(),
        resumeReading: () => stream.resumeReading(),
      };
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

class TracedListener implements StreamListener {
  readonly #inner: StreamListener;
  readonly #ended: (error: string | undefined) => void;
  #status = 0;

  constructor(inner: StreamListener, ended: (error: string | undefined) => void) {
    this.#inner = inner;
    this.#ended = ended;
  }

  response(...[status, headers]: Parameters<StreamListener["response"]>): void {
    this.#status = status;
    this.#inner.response(status, headers);
  }
  data(chunk: Uint8Array): void {
    this.#inner.data(chunk);
  }
  end(): void {
    this.#ended(this.#status >= 400 ? `HTTP ${this.#status}` : undefined);
    this.#inner.end();
  }
  failed(...[failure]: Parameters<StreamListener["failed"]>): void {
    this.#ended(failure.kind);
    this.#inner.failed(failure);
  }
  drain(): void {
    this.#inner.drain();
  }
}

class AttemptSpans {
  readonly #partitions: () => Partitions | undefined;
  readonly #ports: TracingPorts;
  /** Invocations whose start is known to have a span; the oldest are forgotten first. */
  readonly #started = new Set<InvocationId>();

  constructor(partitions: () => Partitions | undefined, ports: TracingPorts) {
    this.#partitions = partitions;
    this.#ports = ports;
  }

  begin(request: StreamRequest, ids: SpanIds, id: InvocationId): { end(error: string | undefined): void } {
    const { tracer, clock, logger } = this.#ports;
    const startMs = clock.nowMs();
    const [, , service = "", handler = ""] = request.path.split("/");
    // Asked now, while it surely exists: when the attempt ends the invocation may be gone.
    const invocation = this.#describe(id);
    let ended = false;
    return {
      end: (error) => {
        if (ended) return;
        ended = true;
        const endMs = clock.nowMs();
        const record = (found: Invocation | undefined): void => {
          const deployment = found?.pinned?.deploymentId;
          tracer.record({
            name: `invocation-attempt ${service}/${handler}`,
            kind: "client",
            ...{ traceId: ids.traceId, spanId: ids.spanId },
            parentSpanId: idsOf(found?.facts.trace?.traceparent)?.spanId,
            startMs,
            endMs,
            attributes: {
              ...attributesOf({ service, handler }, id),
              ...(deployment === undefined ? {} : { "perdure.deployment.id": deployment }),
              "server.address": request.address.kind === "http" ? request.address.uri : request.address.arn,
            },
            error,
          });
        };
        invocation.then(record).catch((cause: unknown) => logger.warn({ cause }, "a span could not be recorded"));
      },
    };
  }

  async #describe(id: InvocationId): Promise<Invocation | undefined> {
    const partitions = this.#partitions();
    if (partitions === undefined) return undefined;
    const found = await this.#find(partitions, id);
    if (found !== undefined) await this.#recordStartOfCallee(partitions, found);
    return found;
  }

  /** A partition that has stopped has bigger worries than our span's parent. */
  #find(partitions: Partitions, id: InvocationId): Promise<Invocation | undefined> {
    return partitions.describe(id).catch(() => undefined);
  }

  /** What a handler calls was not started by the ingress: its start is recorded when its first attempt is. */
  async #recordStartOfCallee(partitions: Partitions, { facts, run }: Invocation): Promise<void> {
    const ids = idsOf(facts.trace?.traceparent);
    if (facts.source.kind !== "service" || ids === undefined || run > 1 || this.#started.has(facts.id)) return;
    this.#started.add(facts.id);
    if (this.#started.size > TRACED_INVOCATIONS_MAX) for (const oldest of this.#started) if (this.#started.delete(oldest)) break;
    const caller = await this.#find(partitions, facts.source.callerId);
    this.#ports.tracer.record({
      name: `invocation-start ${facts.target.service}/${facts.target.handler}`,
      kind: "internal",
      ...{ traceId: ids.traceId, spanId: ids.spanId },
      parentSpanId: idsOf(caller?.facts.trace?.traceparent)?.spanId,
      startMs: facts.createdAtMs,
      endMs: facts.createdAtMs,
      attributes: attributesOf(facts.target, facts.id),
      error: undefined,
    });
  }
}
