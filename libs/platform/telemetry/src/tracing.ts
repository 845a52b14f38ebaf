/**
 * Spans of an invocation. The ingress starts a trace (or joins the caller's), each attempt is a child of its invocation, and so is each
 * invocation that a handler calls. Ids travel inside the invocation, so spans are recorded at their end and belong together even when the
 * server was restarted in between.
 */
import { BoundedCache, type InvocationId, parseInvocationId } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { EndpointTransport, LostAttempt, StreamListener, StreamRequest } from "@perdure/endpoint-transport";
import type { Completed, Invocation, Target, TraceContext } from "@perdure/state-machine";
import { TRACED_INVOCATIONS_MAX } from "./limits.js";
import { spanTimeMs } from "./span-clock.js";
import type { SpanRecord } from "./telemetry.js";
import { childOf, idsOf, type SpanIds, traceparentOf } from "./trace-ids.js";
import type { TracingPorts } from "./tracing-ports.js";

export type { TracingPorts } from "./tracing-ports.js";

/** Spans of invocations, for any exporter; undefined while tracing is off. */
export function invocationTracing(
  ports: TracingPorts & { readonly invocationTracer: TracingPorts["tracer"] },
): TracingPorts | undefined {
  const { invocationTracer: tracer, sampler, clock, random, logger } = ports;
  return tracer.enabled ? { tracer, sampler, clock, random, logger } : undefined;
}

/**
 * Gives an invocation its trace context, from its caller's if that has one. `isTraceRequested`: an authorised caller requested its trace.
 */
export type StartSpan = (
  caller: TraceContext | undefined,
  target: Target,
  id: InvocationId,
  isTraceRequested?: boolean,
) => TraceContext | undefined;

/** For the ingress: a span for each invocation it starts, in as many of the traces as the sampler keeps. */
export function invocationSpans({ tracer, sampler, clock }: TracingPorts): StartSpan {
  return (caller, target, id, isTraceRequested = false): TraceContext => {
    const parent = idsOf(caller?.traceparent);
    const ids = sampler.begin(parent, isTraceRequested);
    if (ids.sampled) tracer.record(startSpanOf(ids, parent?.spanId, target, id, spanTimeMs(clock)));
    return { traceparent: traceparentOf(ids), tracestate: caller?.tracestate };
  };
}

/** The part of a record that its span shows. */
interface TracedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly traceparent?: string | undefined;
}

/**
 * For consumers of topics: the span of receiving a record begins the trace of its invocation, and links to its producer's. A record that is
 * read again leaves another span.
 */
export function recordSpans({ tracer, sampler, clock }: TracingPorts) {
  return (record: TracedRecord, id: InvocationId, target: Target): TraceContext => {
    const producer = idsOf(record.traceparent);
    const ids = sampler.beginAfter(producer);
    if (ids.sampled) {
      const nowMs = spanTimeMs(clock);
      tracer.record({
        name: `process ${record.topic}`,
        kind: "consumer",
        ...{ traceId: ids.traceId, spanId: ids.spanId },
        parentSpanId: undefined,
        startMs: nowMs,
        endMs: nowMs,
        attributes: {
          ...attributesOf(target, id),
          "messaging.system": "kafka",
          "messaging.destination.name": record.topic,
          "messaging.destination.partition.id": String(record.partition),
          "messaging.operation.type": "process",
          "messaging.kafka.offset": record.offset,
        },
        error: undefined,
        links: producer === undefined ? undefined : [{ traceId: producer.traceId, spanId: producer.spanId }],
      });
    }
    return { traceparent: traceparentOf(ids), tracestate: undefined };
  };
}

function startSpanOf(
  ids: SpanIds,
  parentSpanId: string | undefined,
  target: { readonly service: string; readonly handler: string },
  id: InvocationId,
  atMs: number,
): SpanRecord {
  return {
    name: `invocation-start ${target.service}/${target.handler}`,
    kind: "internal",
    ...{ traceId: ids.traceId, spanId: ids.spanId },
    parentSpanId,
    startMs: atMs,
    endMs: atMs,
    attributes: attributesOf(target, id),
    error: undefined,
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

/** Reads the invocation of an attempt, when it is stored by then. */
type InvocationReader = Pick<Partitions, "describe">;

/** A transport whose invocation attempts leave spans. */
export function tracedTransport(inner: EndpointTransport, partitions: InvocationReader, ports: TracingPorts): EndpointTransport {
  const attempts = new AttemptSpans(partitions, ports);
  return {
    open(request, listener) {
      const ids = idsOf(request.headers["traceparent"]);
      const invocation = parseInvocationId(request.headers["x-restate-invocation-id"] ?? "");
      if (ids === undefined || !invocation.ok) return inner.open(request, listener);
      if (request.lost !== undefined) attempts.lost(request, request.lost, ids, invocation.value);
      const spans = attempts.begin(request, ids, invocation.value);
      const stream = inner.open(request, new TracedListener(listener, (error) => spans.end(error)));
      return {
        write: (bytes) => stream.write(bytes),
        end: () => stream.end(),
        abort() {
          spans.end("aborted");
          stream.abort();
        },
        concluded(how, errorCode) {
          spans.concluded(how, errorCode);
          stream.concluded?.(how, errorCode);
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
  waiting(isWaiting: boolean): void {
    this.#inner.waiting?.(isWaiting);
  }
}

type Conclusion = "ended" | "suspended" | "failed";

interface OpenAttemptSpan {
  concluded(how: Conclusion, errorCode: string | undefined): void;
  /** The stream is over; `error` is the reason when it broke. */
  end(error: string | undefined): void;
}

/** OpenTelemetry's `server.*`: only host and port of an endpoint's address, because paths and queries may contain secrets. */
function serverOf({ address }: StreamRequest): SpanRecord["attributes"] {
  if (address.kind === "lambda") return { "server.address": address.arn };
  const url = URL.parse(address.uri);
  if (url === null) return {};
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return { "server.address": url.hostname, "server.port": port };
}

/** Result of an attempt whose process ended. */
const LOST = "lost";

class AttemptSpans {
  readonly #partitions: InvocationReader;
  readonly #ports: TracingPorts;
  /** Invocations whose start has a span; the oldest are dropped first. */
  readonly #started = new BoundedCache<InvocationId, true>({ entriesMax: TRACED_INVOCATIONS_MAX });

  constructor(partitions: InvocationReader, ports: TracingPorts) {
    this.#partitions = partitions;
    this.#ports = ports;
  }

  /**
   * Records the attempt that ran in a process that is gone and could not record it. It ended somewhere between its last stored step and the
   * take-over; the span lasts until the take-over, so that the trace shows how long the caller waited.
   */
  lost(request: StreamRequest, { sinceMs, atMs }: LostAttempt, ids: SpanIds, id: InvocationId): void {
    const { tracer, sampler, clock, random, logger } = this.#ports;
    if (!ids.sampled && !sampler.keepsTail(LOST, atMs - sinceMs, clock.monotonicMs())) return;
    const [, , service = "", handler = ""] = request.path.split("/");
    const record = async (): Promise<void> => {
      const description = await this.#describe(id);
      const start = idsOf(request.invocationTraceparent);
      const { traceId, spanId } = childOf(ids, true, random);
      const { deploymentId: deployment } = description?.pinned ?? {};
      tracer.record({
        name: `invocation-attempt ${service}/${handler}`,
        kind: "client",
        ...{ traceId, spanId },
        parentSpanId: start?.spanId,
        startMs: sinceMs,
        endMs: atMs,
        attributes: {
          ...attributesOf({ service, handler }, id),
          "perdure.attempt.result": LOST,
          "error.type": LOST,
          ...(deployment === undefined ? {} : { "perdure.deployment.id": deployment }),
          ...serverOf(request),
        },
        error: "the process that ran the attempt is gone",
      });
    };
    record().catch((cause: unknown) => logger.warn({ cause }, "a span could not be recorded"));
  }

  begin(request: StreamRequest, ids: SpanIds, id: InvocationId): OpenAttemptSpan {
    const { tracer, sampler, clock, logger } = this.#ports;
    const startMs = spanTimeMs(clock);
    const [, , service = "", handler = ""] = request.path.split("/");
    // Read now, while the invocation surely exists: it may be gone when the attempt ends. In a trace that is not kept it is read only after
    // a failure.
    const early = ids.sampled ? this.#describe(id) : undefined;
    let ended = false;
    let conclusion: { readonly how: Conclusion; readonly errorCode: string | undefined } | undefined;
    return {
      concluded: (how, errorCode) => {
        conclusion ??= { how, errorCode };
      },
      end: (streamError) => {
        if (ended) return;
        ended = true;
        // Once the attempt has reported its result, the end of its stream has no meaning.
        const error = conclusion === undefined ? streamError : conclusion.errorCode;
        const result = conclusion?.how ?? "failed";
        const endMs = spanTimeMs(clock);
        if (early === undefined && !sampler.keepsTail(error, endMs - startMs, clock.monotonicMs())) return;
        const record = async (): Promise<void> => {
          const description = await (early ?? this.#describe(id));
          // By now its first attempt has chosen a deployment, and its last one an outcome. An invocation without retention is deleted when
          // it ends: then its outcome is unknown here, and no span shows it.
          const later = description?.pinned === undefined || result === "ended" ? await this.#find(id) : undefined;
          const { deploymentId: deployment, protocolVersion: version } = (later ?? description)?.pinned ?? {};
          const start = idsOf(request.invocationTraceparent);
          tracer.record({
            name: `invocation-attempt ${service}/${handler}`,
            kind: "client",
            ...{ traceId: ids.traceId, spanId: ids.spanId },
            parentSpanId: start?.spanId,
            startMs,
            endMs,
            attributes: {
              ...attributesOf({ service, handler }, id),
              "perdure.attempt.result": result,
              ...(request.attempt === undefined ? {} : { "perdure.attempt": request.attempt }),
              ...(deployment === undefined ? {} : { "perdure.deployment.id": deployment }),
              ...(version === undefined ? {} : { "perdure.protocol.version": version }),
              ...(error === undefined ? {} : { "error.type": error }),
              ...serverOf(request),
            },
            error,
          });
          if (start !== undefined && later?.status === "completed") this.#recordEnd(later, start);
        };
        record().catch((cause: unknown) => logger.warn({ cause }, "a span could not be recorded"));
      },
    };
  }

  #recordEnd({ outcome, facts, milestones }: Completed, start: SpanIds): void {
    const { random, tracer } = this.#ports;
    const { id, target } = facts;
    const endMs = milestones.completedAtMs ?? facts.createdAtMs;
    const error = outcome.kind === "success" ? undefined : String(outcome.failure.code);
    const { traceId, spanId } = childOf(start, true, random);
    tracer.record({
      name: `invocation-end ${target.service}/${target.handler}`,
      kind: "internal",
      ...{ traceId, spanId },
      parentSpanId: start.spanId,
      startMs: endMs,
      endMs,
      attributes: {
        ...attributesOf(target, id),
        "perdure.invocation.result": outcome.kind,
        "perdure.invocation.duration_ms": endMs - facts.createdAtMs,
        ...(error === undefined ? {} : { "error.type": error }),
      },
      error,
    });
  }

  async #describe(id: InvocationId): Promise<Invocation | undefined> {
    const invocation = await this.#find(id);
    if (invocation !== undefined) await this.#recordStart(invocation);
    return invocation;
  }

  /** An error of a stopped partition is ignored: only the span's parent is missing then. */
  #find(id: InvocationId): Promise<Invocation | undefined> {
    return this.#partitions.describe(id).catch(() => undefined);
  }

  /**
   * The ingress records the starts of invocations in kept traces. Calls of handlers, invocations of topics, and failed invocations in
   * traces that were not kept are recorded with the first attempt that leaves a span here.
   */
  async #recordStart({ facts, run }: Invocation): Promise<void> {
    const ids = idsOf(facts.trace?.traceparent);
    const { source } = facts;
    if (ids === undefined || (source.kind !== "service" && ids.sampled) || this.#started.has(facts.id)) return;
    if (run > 1 && ids.sampled) return;
    this.#started.set(facts.id, true);
    const caller = source.kind === "service" ? await this.#find(source.callerId) : undefined;
    const parent = idsOf(caller?.facts.trace?.traceparent);
    const isSameTrace = parent?.traceId === ids.traceId;
    const span = startSpanOf(ids, isSameTrace ? parent?.spanId : undefined, facts.target, facts.id, facts.createdAtMs);
    const links = parent === undefined || isSameTrace ? undefined : [{ traceId: parent.traceId, spanId: parent.spanId }];
    this.#ports.tracer.record({ ...span, links });
  }
}
