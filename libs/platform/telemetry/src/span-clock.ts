/**
 * Times of spans with fractions of a millisecond: most spans are shorter than the wall clock's resolution. The monotonic clock continues
 * from a reading of the wall clock, and is read against it anew when the machine's clock was set.
 */
import type { Clock } from "@perdure/base";
import { SPAN_CLOCK_DRIFT_MS } from "./limits.js";

interface Anchor {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

const anchors = new WeakMap<Clock, Anchor>();

/** Milliseconds since 1970 with fractions of microseconds. */
export function spanTimeMs(clock: Clock): number {
  const wallMs = clock.nowMs();
  const monotonicMs = clock.monotonicMs();
  const anchor = anchors.get(clock);
  if (anchor !== undefined) {
    const nowMs = anchor.wallMs + (monotonicMs - anchor.monotonicMs);
    if (Math.abs(nowMs - wallMs) <= SPAN_CLOCK_DRIFT_MS) return nowMs;
  }
  anchors.set(clock, { wallMs, monotonicMs });
  return wallMs;
}
