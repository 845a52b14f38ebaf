/** Unfinished invocations over time, from the number of now and from what was created and completed since. Pure. */

/** What one point of a chart counts. */
export interface PointFlow {
  readonly atMs: number;
  readonly created: number;
  readonly completed: number;
}

interface BacklogInput {
  /** Begins of the points, milliseconds since 1970, rising. */
  readonly times: readonly number[];
  readonly bucketMs: number;
  /** Of the points and of the time after the last one, in any order. */
  readonly flows: readonly PointFlow[];
  readonly unfinishedNow: number;
}

/**
 * The number at the end of each point. The counts of now and of the past are read one after the other, so a number may differ by what
 * happened in between; it is never negative.
 */
export function backlogOf({ times, bucketMs, flows, unfinishedNow }: BacklogInput): readonly number[] {
  const latestFirst = [...flows].sort((a, b) => b.atMs - a.atMs);
  const values: number[] = [];
  let unfinished = unfinishedNow;
  let next = 0;
  for (const time of times.toReversed()) {
    for (let flow = latestFirst[next]; flow !== undefined && flow.atMs >= time + bucketMs; flow = latestFirst[++next]) {
      unfinished += flow.completed - flow.created;
    }
    values.push(Math.max(0, unfinished));
  }
  return values.reverse();
}
