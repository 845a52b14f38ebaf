/**
 * Sampling of traces: on a busy platform a few traces are enough, if those that failed are among them. Callers decide for their own traces;
 * of the others a fixed share is kept from the beginning, and failed or slow ones are kept when that is clear (kubernetes.md §5.2).
 */
import { ROOT_CONTEXT, SpanKind } from "@opentelemetry/api";
import { ParentBasedSampler, SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace";
import { type Random, TokenBucket } from "@perdure/base";
import { SLOW_SPAN_MS, TAIL_SPANS_PER_SECOND } from "./limits.js";
import { childOf, contextOf, newTraceId, type SpanIds } from "./trace-ids.js";

interface SamplerOptions {
  /** 0 to 1: of traces that begin here. */
  readonly ratio: number;
}

export class Sampler {
  readonly #begin: ParentBasedSampler;
  readonly #random: Random;
  readonly #tail = new TokenBucket({ perSecond: TAIL_SPANS_PER_SECOND, burst: TAIL_SPANS_PER_SECOND }, 0);

  constructor({ ratio }: SamplerOptions, random: Random) {
    this.#begin = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
    this.#random = random;
  }

  /** Ids of a span that begins here, with the decision about its trace: under `parent`, or the first of a trace. */
  begin(parent: SpanIds | undefined, isTraceRequested: boolean): SpanIds {
    const traceId = parent?.traceId ?? newTraceId(this.#random);
    return childOf({ traceId }, this.keeps(parent, isTraceRequested, traceId), this.#random);
  }

  /** Ids of the first span of a trace that follows `cause` and is kept when that is, or without a cause as the ratio decides. */
  beginAfter(cause: SpanIds | undefined): SpanIds {
    const traceId = newTraceId(this.#random);
    return childOf({ traceId }, this.keeps(cause, false, traceId), this.#random);
  }

  /**
   * `isTraceRequested`: an authorised caller requested this very trace. `traceId`: of the trace when it begins here; the share is taken by
   * this id, so every process with the same ratio decides the same.
   */
  keeps(parent: SpanIds | undefined, isTraceRequested: boolean, traceId = newTraceId(this.#random)): boolean {
    if (isTraceRequested) return true;
    const context = parent === undefined ? ROOT_CONTEXT : contextOf(parent);
    const { decision } = this.#begin.shouldSample(context, traceId, "", SpanKind.INTERNAL, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }

  /**
   * Whether a failed or slow span is kept although its trace was not; at most a number per second, because whole endpoints fail at once.
   * `nowMs` is monotonic.
   */
  keepsTail(error: string | undefined, durationMs: number, nowMs: number): boolean {
    if (error === undefined && durationMs < SLOW_SPAN_MS) return false;
    return this.#tail.take(nowMs);
  }
}
