/**
 * Counts invocations by service and period in memory, so that charts of the past need not read every stored invocation. The counts cover
 * what this process has applied since it started.
 *
 * Counting the creation and the completion of an invocation takes 0.4 µs of the 30 that its five commands take (2026-11-27, processor time of
 * 10 million invocations, load 18).
 */
import type { TrafficCount } from "@perdure/storage";
import { DURATION_CLASS_COUNT, DURATION_MS_MAX, RESOLUTIONS, SERVICES_MAX } from "./limits.js";

const CLASS_RATIO = Math.SQRT2;

/** Upper bounds of the classes of durations in milliseconds; a duration belongs to the first class whose bound it does not exceed. */
const CLASS_BOUNDS: readonly number[] = Array.from({ length: DURATION_CLASS_COUNT }, (_, index) =>
  index === DURATION_CLASS_COUNT - 1 ? DURATION_MS_MAX : Math.round(CLASS_RATIO ** index),
);

/** One service in one period. */
class TrafficCell {
  created = 0;
  /** By class of duration. Undefined until an invocation completes. */
  completed: Uint32Array | undefined;
  failed: Uint32Array | undefined;

  add({ created, completed, failed }: TrafficCell): void {
    this.created += created;
    if (completed !== undefined) this.completed = sumOf(this.completed, completed);
    if (failed !== undefined) this.failed = sumOf(this.failed, failed);
  }
}

function sumOf(sums: Uint32Array | undefined, more: Uint32Array): Uint32Array {
  if (sums === undefined) return more.slice();
  for (const [index, count] of more.entries()) sums[index]! += count;
  return sums;
}

type Cells = Map<string, TrafficCell>;

/** Periods of all resolutions begin and end with one of these. */
const SHORTEST_MS = RESOLUTIONS[0]?.periodMs ?? 1;

export class TrafficCounters {
  /** Periods of each resolution by their start, oldest first. */
  readonly #periods: readonly Map<number, Cells>[] = RESOLUTIONS.map(() => new Map());
  readonly #services = new Set<string>();
  #isComplete = true;
  /** The shortest period that is under way; it is added to the others when it has ended, so that an invocation costs one look-up. */
  #present: Cells = new Map();
  #presentStartMs = 0;
  #presentEndMs = 0;

  /** False once an invocation was not counted, because its service was one too many. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  created(service: string, atMs: number): void {
    const cell = this.#cellAt(service, atMs);
    if (cell !== undefined) cell.created++;
  }

  completed(service: string, atMs: number, durationMs: number, isFailure: boolean): void {
    const cell = this.#cellAt(service, atMs);
    if (cell === undefined) return;
    const place = classOf(durationMs);
    cell.completed ??= new Uint32Array(DURATION_CLASS_COUNT);
    cell.completed[place]!++;
    if (!isFailure) return;
    cell.failed ??= new Uint32Array(DURATION_CLASS_COUNT);
    cell.failed[place]!++;
  }

  /** The counts of all periods that have some, without those that are too old at `nowMs`. */
  *counts(nowMs: number): Iterable<TrafficCount> {
    this.#endPresent();
    for (const [index, { periodMs, count }] of RESOLUTIONS.entries()) {
      const oldest = startOf(nowMs, periodMs) - count * periodMs;
      for (const [startsAtMs, cells] of this.#periods[index] ?? []) {
        if (startsAtMs < oldest) continue;
        for (const [service, cell] of cells) yield* countsOf({ periodMs, startsAtMs, service }, cell);
      }
    }
  }

  #cellAt(service: string, atMs: number): TrafficCell | undefined {
    if (atMs >= this.#presentEndMs || atMs < this.#presentStartMs) {
      this.#endPresent();
      this.#presentStartMs = startOf(atMs, SHORTEST_MS);
      this.#presentEndMs = this.#presentStartMs + SHORTEST_MS;
    }
    const cached = this.#present.get(service);
    if (cached !== undefined) return cached;
    if (!this.#admits(service)) return undefined;
    const cell = new TrafficCell();
    this.#present.set(service, cell);
    return cell;
  }

  /** Adds the present period to those of all resolutions, and counts it anew. */
  #endPresent(): void {
    if (this.#present.size === 0) return;
    for (const [index, { periodMs, count }] of RESOLUTIONS.entries()) {
      const periods = this.#periods[index]!;
      const startsAtMs = startOf(this.#presentStartMs, periodMs);
      const cells = periods.get(startsAtMs) ?? new Map<string, TrafficCell>();
      if (cells.size === 0) {
        periods.set(startsAtMs, cells);
        for (const each of periods.keys()) if (each < startsAtMs - count * periodMs) periods.delete(each);
      }
      for (const [service, cell] of this.#present) {
        const sum = cells.get(service) ?? new TrafficCell();
        sum.add(cell);
        cells.set(service, sum);
      }
    }
    this.#present = new Map();
  }

  #admits(service: string): boolean {
    if (this.#services.has(service)) return true;
    if (this.#services.size >= SERVICES_MAX) {
      this.#isComplete = false;
      return false;
    }
    this.#services.add(service);
    return true;
  }
}

/** Bound of the last class but one. */
const LONGEST_MS = CLASS_BOUNDS[DURATION_CLASS_COUNT - 2]!;

const startOf = (atMs: number, periodMs: number): number => Math.floor(atMs / periodMs) * periodMs;

/** Two classes for each power of two: `CLASS_BOUNDS[2n]` is 2^n. */
function classOf(durationMs: number): number {
  if (durationMs <= 1) return 0;
  if (durationMs > LONGEST_MS) return DURATION_CLASS_COUNT - 1;
  const place = 2 * (31 - Math.clz32(durationMs));
  if (durationMs <= CLASS_BOUNDS[place]!) return place;
  return durationMs <= CLASS_BOUNDS[place + 1]! ? place + 1 : place + 2;
}

type CellPlace = Pick<TrafficCount, "periodMs" | "startsAtMs" | "service">;

/** Created invocations have a row of their own, completed ones a row for each class of durations that has some. */
function* countsOf(place: CellPlace, { created, completed, failed }: TrafficCell): Iterable<TrafficCount> {
  if (created > 0) yield { ...place, durationMsMax: undefined, created, completed: 0, failed: 0 };
  if (completed === undefined) return;
  for (const [index, count] of completed.entries()) {
    if (count === 0) continue;
    yield { ...place, durationMsMax: CLASS_BOUNDS[index], created: 0, completed: count, failed: failed?.[index] ?? 0 };
  }
}
