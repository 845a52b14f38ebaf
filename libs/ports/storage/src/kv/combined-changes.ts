/**
 * The records of changes of several writers of one database, as one. A position of all is a list of positions, one for each writer, and has
 * a number of its own. Each record is exact about the rows of its writer, whenever the others are read: the rule of `CompletedChanges`
 * holds for every row when all positions were read before the snapshot is taken, and all changes are read after that.
 */
import { present } from "@perdure/base";

/** A record of changes, perhaps of another thread; see `CompletedChanges`. */
export interface AsyncCompletedChanges {
  position(): Promise<number | undefined> | number | undefined;
  since(position: number): Promise<readonly string[] | undefined> | readonly string[] | undefined;
}

/** Positions that are kept: each process that runs statements uses the one of its latest statement over completed invocations. */
const POSITIONS_KEPT_MAX = 1_024;

/** `records`: one for each writer. A record that rejects, because its thread has ended, is one without positions. */
export function combinedChanges(
  records: readonly AsyncCompletedChanges[],
  positionsKeptMax = POSITIONS_KEPT_MAX,
): AsyncCompletedChanges {
  const kept = new Map<number, readonly number[]>();
  let last = 0;
  return {
    async position() {
      const positions = await whole(records.map(async (record) => record.position()));
      if (positions === undefined) return undefined;
      const oldest = kept.keys().next().value;
      if (oldest !== undefined && kept.size >= positionsKeptMax) kept.delete(oldest);
      kept.set(++last, positions);
      return last;
    },
    async since(position) {
      const positions = kept.get(position);
      if (positions === undefined) return undefined;
      const changes = await whole(records.map(async (record, index) => record.since(present(positions[index]))));
      return changes?.flat();
    },
  };
}

/** The results; undefined when one of them is missing. */
async function whole<T>(results: readonly Promise<T | undefined>[]): Promise<T[] | undefined> {
  const all = await Promise.allSettled(results);
  const values: T[] = [];
  for (const each of all) if (each.status === "fulfilled" && each.value !== undefined) values.push(each.value);
  return values.length === all.length ? values : undefined;
}
