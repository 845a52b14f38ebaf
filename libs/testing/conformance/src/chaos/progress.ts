/**
 * Measures the interruption by a fault: the time until each affected partition has stored something again for an attempt that began after
 * the fault, because answers of a crashed leader may arrive after the crash.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type InvocationId, partitionOf } from "@perdure/base";
import { POLL_MS, PROGRESS_MS_MAX } from "./limits.js";
import type { HandlerRecord, StepProgress } from "./record.js";

/** Measures how long each partition makes no progress, until the result is called, which returns the longest pause of each, ascending. */
export function standstills(record: HandlerRecord, partitionCount: number, partitions: readonly number[]): () => Pauses {
  const sinceMs = performance.now();
  const last = new Map(partitions.map((partition) => [partition, sinceMs]));
  const longest = new Map<number, number>();
  const moved = (partition: number, nowMs: number): void => {
    const before = last.get(partition);
    if (before === undefined) return;
    last.set(partition, nowMs);
    longest.set(partition, Math.max(longest.get(partition) ?? 0, nowMs - before));
  };
  const listener = ({ invocationId, nowMs }: StepProgress): void =>
    moved(partitionOf(invocationId as InvocationId, partitionCount), nowMs);
  record.listeners.add(listener);
  return () => {
    record.listeners.delete(listener);
    for (const partition of partitions) moved(partition, performance.now());
    return [...longest.values()].sort((a, b) => a - b);
  };
}

/** Milliseconds from the fault to the first progress, one per partition, ascending. */
export type Pauses = readonly number[];

/**
 * Resolves when all partitions have made progress since `sinceMs`. Rejects after a minute and names those that have not. `anyAttempt`:
 * attempts that began before count too, for faults that no leader crashes in.
 */
export async function untilProgress(
  record: HandlerRecord,
  partitionCount: number,
  partitions: readonly number[],
  { sinceMs, anyAttempt = false }: { readonly sinceMs: number; readonly anyAttempt?: boolean },
): Promise<Pauses> {
  const waiting = new Set(partitions);
  const pauses: number[] = [];
  const listener = ({ invocationId, attemptSinceMs, nowMs }: StepProgress): void => {
    if (nowMs < sinceMs || (!anyAttempt && attemptSinceMs < sinceMs)) return;
    if (waiting.delete(partitionOf(invocationId as InvocationId, partitionCount))) pauses.push(nowMs - sinceMs);
  };
  record.listeners.add(listener);
  try {
    const deadlineMs = performance.now() + PROGRESS_MS_MAX;
    while (waiting.size > 0) {
      if (performance.now() > deadlineMs) throw new Error(`partitions ${[...waiting].join(", ")} do not move any more`);
      await delay(POLL_MS);
    }
    return pauses;
  } finally {
    record.listeners.delete(listener);
  }
}
