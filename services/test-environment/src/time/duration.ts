/** Lengths of time as tests write them. */

/** A number of milliseconds, or the sum of parts. */
export type TestDuration =
  | number
  | {
      readonly days?: number;
      readonly hours?: number;
      readonly minutes?: number;
      readonly seconds?: number;
      readonly milliseconds?: number;
    };

/** Throws RangeError for what is not a finite length of time from zero on. */
export function durationMs(duration: TestDuration): number {
  const ms = typeof duration === "number" ? duration : sumMs(duration);
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`${JSON.stringify(duration)} is not a length of time`);
  return Math.ceil(ms);
}

function sumMs({ days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 }: Exclude<TestDuration, number>): number {
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000 + milliseconds;
}
