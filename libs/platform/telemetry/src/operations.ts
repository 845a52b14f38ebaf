/** Turns the operations that drivers report into metrics, and into spans under the work that the process is doing. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock, Operation, OperationObserver } from "@perdure/base";
import type { Counter, Histogram } from "./metrics.js";
import type { Sampler } from "./sampling.js";
import { spanTimeMs } from "./span-clock.js";
import type { SpanRecord, Tracer } from "./telemetry.js";
import { childOf, idsOf, type SpanIds, traceparentOf } from "./trace-ids.js";
import type { TracingPorts } from "./tracing-ports.js";

/** The span of the running work. Only spans are put here, so nothing is kept while tracing is off. */
const current = new AsyncLocalStorage<SpanIds>();

/** Fields of log lines that are written while a span is under way; undefined when none is. */
export function currentTraceIds(): { readonly trace_id: string; readonly span_id: string } | undefined {
  const ids = current.getStore();
  return ids === undefined ? undefined : { trace_id: ids.traceId, span_id: ids.spanId };
}

interface MeasuredOptions {
  /** With labels for name and target, or one of them. */
  readonly durations?: Histogram | undefined;
  /** With a further label for how it ended: `ok`, or the error. */
  readonly counts?: Counter | undefined;
  /** Maps an operation to those labels. */
  readonly labels: (name: string, target: string) => readonly string[];
}

export function measuredOperations({ durations, counts, labels }: MeasuredOptions, clock: Clock): OperationObserver {
  return {
    begin(name, target) {
      const values = labels(name, target);
      const sinceMs = clock.monotonicMs();
      return {
        traceparent: undefined,
        run: (work) => work(),
        end(error) {
          durations?.observe((clock.monotonicMs() - sinceMs) / 1000, ...values);
          counts?.inc(...values, error ?? "ok");
        },
      };
    },
  };
}

export interface SpanShape {
  readonly name: string;
  readonly attributes: SpanRecord["attributes"];
  /** Attributes that exist only at the end; `error` is undefined when the operation succeeded. */
  readonly ended?: (error: string | undefined) => SpanRecord["attributes"];
}

/**
 * Spans of operations within other work: below the given span (of a calling process, of an invocation), or below that of the work that runs
 * now. An operation without a trace, or in a trace that is not kept, leaves no span.
 */
export function tracedOperations(
  { tracer, clock, random }: TracingPorts,
  kind: "client" | "server",
  shape: (name: string, target: string) => SpanShape,
): OperationObserver | undefined {
  if (!tracer.enabled) return undefined;
  return {
    begin(name, target, traceparent) {
      const parent = traceparent === undefined ? (kind === "client" ? current.getStore() : undefined) : idsOf(traceparent);
      if (parent === undefined || !parent.sampled) return UNTRACED;
      return new TracedOperation(tracer, clock, kind, childOf(parent, true, random), parent, shape(name, target));
    },
  };
}

/** At an edge, where traces begin. `isTraceRequested`: as for `Sampler`. */
export interface Edge {
  /** `sinceMs`: when it began (ms since 1970), where that is not now. */
  begin(traceparent: string | undefined, isTraceRequested: boolean, sinceMs?: number): EdgeOperation;
}

export interface EdgeOperation extends Operation {
  /** Sets the shape of the span before the end. */
  note(shape: SpanShape): void;
}

/** Undefined while tracing is off. */
export function tracedEdge({ tracer, clock, sampler }: TracingPorts, kind: "server" | "internal"): Edge | undefined {
  if (!tracer.enabled) return undefined;
  return {
    begin(traceparent, isTraceRequested, sinceMs) {
      const parent = idsOf(traceparent);
      const ids = sampler.begin(parent, isTraceRequested);
      return new TracedOperation(tracer, clock, kind, ids, parent, UNNAMED, sampler, sinceMs);
    },
  };
}

class TracedOperation implements EdgeOperation {
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #kind: SpanRecord["kind"];
  readonly #ids: SpanIds;
  readonly #parent: SpanIds | undefined;
  #shape: SpanShape;
  readonly #sampler: Sampler | undefined;
  readonly #startMs: number;

  constructor(
    tracer: Tracer,
    clock: Clock,
    kind: SpanRecord["kind"],
    ids: SpanIds,
    parent: SpanIds | undefined,
    shape: SpanShape,
    sampler?: Sampler,
    sinceMs = spanTimeMs(clock),
  ) {
    this.#tracer = tracer;
    this.#clock = clock;
    this.#kind = kind;
    this.#ids = ids;
    this.#parent = parent;
    this.#shape = shape;
    this.#sampler = sampler;
    this.#startMs = sinceMs;
  }

  get traceparent(): string {
    return traceparentOf(this.#ids);
  }

  run<T>(work: () => T): T {
    return current.run(this.#ids, work);
  }

  note(shape: SpanShape): void {
    this.#shape = shape;
  }

  end(error: string | undefined): void {
    const endMs = spanTimeMs(this.#clock);
    if (!this.#ids.sampled && this.#sampler?.keepsTail(error, endMs - this.#startMs, this.#clock.monotonicMs()) !== true) return;
    const { name, attributes, ended } = this.#shape;
    this.#tracer.record({
      name,
      kind: this.#kind,
      ...{ traceId: this.#ids.traceId, spanId: this.#ids.spanId },
      parentSpanId: this.#parent?.spanId,
      startMs: this.#startMs,
      endMs,
      attributes: { ...attributes, ...ended?.(error), ...(error === undefined ? {} : { "error.type": error }) },
      error,
    });
  }
}

const UNNAMED: SpanShape = { name: "request", attributes: {} };
const UNTRACED: Operation = { traceparent: undefined, run: (work) => work(), end() {} };
