/** Computes when schedules fire, for a picture and a preview, by the same calendar that the server uses. Pure; times in milliseconds. */
import { parseRecurrence, type Timetable, timetableOf, zoneOf } from "@perdure/recurrence";

interface When {
  readonly cron: string;
  readonly zone: string;
  /** RFC 3339. */
  readonly startAt?: string | null | undefined;
  readonly endAt?: string | null | undefined;
}

export type ReadWhen =
  | { readonly ok: true; readonly times: Timetable; readonly startMs: number; readonly endMs: number }
  | { readonly ok: false; readonly field: "cron" | "zone"; readonly problem: string };

export function readWhen({ cron, zone, startAt, endAt }: When): ReadWhen {
  const recurrence = parseRecurrence(cron);
  if (!recurrence.ok) return { ok: false, field: "cron", problem: recurrence.reason };
  const resolvedZone = zoneOf(zone);
  if (resolvedZone === undefined) return { ok: false, field: "zone", problem: "Unknown time zone." };
  const startMs = startAt ? Date.parse(startAt) : Number.NEGATIVE_INFINITY;
  const endMs = endAt ? Date.parse(endAt) : Number.POSITIVE_INFINITY;
  // Intervals count from the start, else from 1970.
  return { ok: true, times: timetableOf(recurrence.value, resolvedZone, startAt ? startMs : 0), startMs, endMs };
}

/** Fire times after `fromMs` and not after `toMs`, at most `max` of them. */
export function timesWithin(when: ReadWhen & { ok: true }, fromMs: number, toMs: number, max: number): readonly number[] {
  const times: number[] = [];
  const lastMs = Math.min(toMs, when.endMs);
  let at = when.times.next(Math.max(fromMs, when.startMs - 1));
  while (at !== undefined && at <= lastMs && times.length < max) {
    times.push(at);
    at = when.times.next(at);
  }
  return times;
}

/** How often it fires in each of `cellCount` equal parts of the span, counted up to `max` in each. */
export function countsWithin(
  when: ReadWhen & { ok: true },
  fromMs: number,
  toMs: number,
  { cellCount, max }: { readonly cellCount: number; readonly max: number },
): readonly number[] {
  const startOf = (cell: number): number => fromMs + ((toMs - fromMs) * cell) / cellCount;
  return Array.from({ length: cellCount }, (_, cell) => timesWithin(when, startOf(cell), startOf(cell + 1), max).length);
}
