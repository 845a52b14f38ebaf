/**
 * A rate limit as one number, so that it can be stored and survives its leader. This is GCRA: the number is the time until which the
 * bucket is booked; each start books one interval more, and may do so while no more than `burst` intervals lie ahead. In any window of
 * length t at most `burst + t / interval` starts are allowed.
 */
import type { FlowRate } from "./rule.js";

/** A bucket as it is stored. `name`: `scope`, `scope/l1` or `scope/l1/l2`. Microseconds since 1970: safe integers until the year 2255. */
export interface BucketValue {
  readonly name: string;
  readonly bookedUntilMicros: number;
}

const MICROS_PER_MS = 1_000;
/** Largest lead of a bucket: with the present time and the longest interval added it is still a safe integer. */
const AHEAD_MICROS_MAX = 4e15;

/** Microseconds between two starts, rounded up: never faster than the rule allows. */
function intervalMicros(rate: FlowRate): number {
  return Math.max(1, Math.ceil((rate.periodMs * MICROS_PER_MS) / rate.limit));
}

/**
 * The part of a burst that fits into the number: a bucket is never booked more than some 120 years ahead. This limits only rules that
 * allow thousands of starts at once and then one a month.
 */
function burstOf(rate: FlowRate): number {
  return Math.min(rate.burst, Math.floor(AHEAD_MICROS_MAX / intervalMicros(rate)));
}

/**
 * The booked time as of now: not before now, and never more than a whole burst ahead, so that a clock that was ahead or a rule that was
 * slower cannot close a bucket for long.
 */
function booked(bookedUntilMicros: number, rate: FlowRate, nowMicros: number): number {
  return Math.min(Math.max(bookedUntilMicros, nowMicros), nowMicros + burstOf(rate) * intervalMicros(rate));
}

/** Returns the earliest time (ms, rounded up) at which the bucket allows a start; now or earlier when it does so now. */
export function opensAtMs(bookedUntilMicros: number, rate: FlowRate, nowMs: number): number {
  const ahead = booked(bookedUntilMicros, rate, Math.ceil(nowMs * MICROS_PER_MS));
  return Math.ceil((ahead - (burstOf(rate) - 1) * intervalMicros(rate)) / MICROS_PER_MS);
}

/** Returns the bucket after one start. */
export function book(bookedUntilMicros: number, rate: FlowRate, nowMs: number): number {
  return booked(bookedUntilMicros, rate, Math.ceil(nowMs * MICROS_PER_MS)) + intervalMicros(rate);
}

/** Returns how many starts the bucket allows at once. */
export function availableOf(bookedUntilMicros: number, rate: FlowRate, nowMs: number): number {
  const nowMicros = nowMs * MICROS_PER_MS;
  const free = burstOf(rate) * intervalMicros(rate) - (booked(bookedUntilMicros, rate, nowMicros) - nowMicros);
  return Math.max(0, Math.floor(free / intervalMicros(rate)));
}

/** Whether the bucket is full; a full bucket need not be stored. */
export function isFull(bookedUntilMicros: number, nowMs: number): boolean {
  return bookedUntilMicros <= nowMs * MICROS_PER_MS;
}
