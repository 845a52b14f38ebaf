/** What each thread of a process gets: its partitions, and its part of the limits of the process. */
import { PartitionSubset } from "./partition-subset.js";

/** Partitions that thread `thread` (0 … threads − 1) leads: those whose number leaves this remainder. */
export function partitionsOfThread(thread: number, threads: number, partitionCount: number): PartitionSubset {
  const own = Array.from({ length: partitionCount }, (_, partition) => partition).filter((each) => each % threads === thread);
  return new PartitionSubset(own, partitionCount);
}

/**
 * The part of a limit of the process that thread `thread` (0 … threads − 1) may use. The parts differ by one at most and their sum is the
 * limit, so a limit that is not below the number of threads leaves every thread some.
 */
export function shareOf(limit: number, thread: number, threads: number): number {
  return Math.floor(limit / threads) + (thread < limit % threads ? 1 : 0);
}
