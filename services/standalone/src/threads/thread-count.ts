/** The number of threads in which one server leads its partitions. */
import { PerdureError } from "@perdure/base";
import { custom } from "@perdure/process-kit";
import { z } from "zod";

/** More threads than the machines have processors on which one LevelDB is the right store. */
const THREADS_MAX = 64;

const error = `must be auto or a whole number from 1 to ${THREADS_MAX}`;
const threads = z
  .union([z.literal("auto"), z.number(), z.bigint().transform(Number), z.string().regex(/^\d+$/, { error }).transform(Number)], {
    error,
  })
  .refine((count) => count === "auto" || (Number.isInteger(count) && count >= 1 && count <= THREADS_MAX), { error })
  .prefault(1);

export const threadsSetting = custom(threads, {
  sentence:
    "Threads that lead partitions, each of which uses one processor: auto or 1 to 64. Only on Linux, and without the commit log, more than one.",
  form: "scalar",
  show: (count) => (count === "auto" ? '"auto"' : String(count)),
});

/** The settings that the number follows from. */
export interface ThreadSettings {
  readonly worker: {
    readonly threads: "auto" | number;
    readonly storageRocksdb: { readonly commitLog: boolean };
    readonly invoker: { readonly concurrentInvocationsLimit?: number | undefined };
  };
  readonly ingress: {
    readonly concurrentApiRequestsLimit?: number | undefined;
    readonly requestsPerSecondLimit?: number | undefined;
  };
  readonly runtime: { readonly mode: "running" | "suspended" };
}

/** Throws OPS0001 for settings that several threads cannot keep. */
export function checkThreads({ worker }: ThreadSettings): void {
  if (worker.threads === "auto" || worker.threads === 1 || !worker.storageRocksdb.commitLog) return;
  throw new PerdureError(
    "OPS0001",
    "'worker.threads' is more than 1, and 'worker.storage-rocksdb.commit-log' is for one thread. Set threads to 1, or commit-log to false",
  );
}

/**
 * The number to start, at least 1. Each thread has a part of every limit of the process and leads a partition, so there are no more threads
 * than that. `parallelism`: processors that this process may use.
 */
export function threadsOf(
  { worker, ingress, runtime }: ThreadSettings,
  parallelism: number,
  platform: NodeJS.Platform,
  partitionCount: number,
): number {
  // Other systems do not spread the connections of one port among several listeners; a suspended server has no work.
  if (platform !== "linux" || runtime.mode === "suspended" || worker.storageRocksdb.commitLog) return 1;
  const limits = [
    worker.invoker.concurrentInvocationsLimit,
    ingress.concurrentApiRequestsLimit,
    ingress.requestsPerSecondLimit,
  ].filter((limit) => limit !== undefined);
  const count = worker.threads === "auto" ? automaticThreads(parallelism) : worker.threads;
  return Math.max(1, Math.min(count, partitionCount, ...limits));
}

/** One, until measurements on machines with more processors decide. */
function automaticThreads(parallelism: number): number {
  return Math.min(1, parallelism);
}
