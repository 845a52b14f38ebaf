/** Reads ranges of several partitions, some ahead of their turn where that is allowed. */
import { readAhead } from "../ahead.js";
import { LIMIT_AHEAD_MIN, RANGES_AHEAD } from "../limits.js";
import type { IntrospectionSource } from "../ports.js";
import type { ScanHints } from "../query/hints.js";

export function everyPartition({ partitionCount }: Pick<IntrospectionSource, "partitionCount">): readonly number[] {
  return Array.from({ length: partitionCount }, (_, partition) => partition);
}

/** The pages of all ranges, in their order. */
export async function* inOrder<Page>(
  { isOneMoment }: Pick<IntrospectionSource, "isOneMoment">,
  { limit }: Pick<ScanHints, "limit">,
  ranges: Iterable<AsyncIterable<Page>>,
): AsyncIterable<Page> {
  const isMost = limit === undefined || limit > LIMIT_AHEAD_MIN; // A statement with a small LIMIT should read little.
  if (isOneMoment && isMost) yield* readAhead(ranges, RANGES_AHEAD);
  else for (const range of ranges) yield* range;
}

/** The rows that `read` finds in each partition, in the order of the partitions. */
export function ofPartitions<Row>(
  source: IntrospectionSource,
  hints: ScanHints,
  partitions: Iterable<number>,
  read: (partition: number) => AsyncIterable<Row>,
): AsyncIterable<Row> {
  return inOrder(source, hints, Iterator.from(partitions).map(read));
}
