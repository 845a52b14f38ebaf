/**
 * Sampling of traces: on a busy platform a few traces are enough, if those that failed are among them. Callers decide for their own traces;
 * of the others a fixed share is kept from the beginning, and failed or slow ones are kept when that is clear (kubernetes.md §5.2).
 */
import { type Random, TokenBucket } from "@perdure/base";
import { SLOW_SPAN_MS, TAIL_SPANS_PER_SECOND } from "./limits.js";
import type { SpanIds } from "./trace-ids.js";

export interface SamplerOptions {
  /** 0 to 1: of traces that begin here. */
  readonly ratio: number;
}

export class Sampler {
  readonly #ratio: number;
  readonly #random: Random;
  readonly #tail = new TokenBucket({ perSecond: TAIL_SPANS_PER_SECOND, burst: TAIL_SPANS_PER_SECOND }, 0);

  constructor({ ratio }: SamplerOptions, random: Random) {
    this.#ratio = ratio;
    this.#random = random;
  }

  /** `isTraceRequested`: an authorised caller requested this very trace. */
  keeps(parent: SpanIds | undefined, isTraceRequested: boolean): boolean {
    if (isTraceRequested || parent?.sampled === true) return true;
    return parent === undefined && this.#ratio > 0 && this.#random.float() < this.#ratio;
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
