/** The number of threads in which one server leads its partitions. */
import { availableParallelism, totalmem } from "node:os";
import { PerdureError } from "@perdure/base";
import { custom } from "@perdure/process-kit";
import { z } from "zod";

/** More threads than the machines have processors on which one LevelDB is the right store. */
const THREADS_MAX = 64;

/**
 * The store's own threads, the collection of garbage and the compiler use about half a processor beside each busy thread, and endpoints
 * often run on the same machine (`bench/threads.ts` measures both).
 */
const PROCESSORS_PER_THREAD = 2;
/** Each thread has a heap of its own. */
const BYTES_PER_THREAD = 1024 ** 3;
/** More threads were measured on fewer processors than threads only. */
const AUTOMATIC_MAX = 8;

const error = `must be auto or a whole number from 1 to ${THREADS_MAX}`;
const threads = z
  .union([z.literal("auto"), z.number(), z.bigint().transform(Number), z.string().regex(/^\d+$/, { error }).transform(Number)], {
    error,
  })
  .refine((count) => count === "auto" || (Number.isInteger(count) && count >= 1 && count <= THREADS_MAX), { error })
  .prefault("auto");

export const threadsSetting = custom(threads, {
  sentence:
    "Threads that lead partitions, each of which uses one processor: 1 to 64, or auto, which is half of the processors, at most 8, and one for each GiB of memory. Only on Linux, and without the commit log, more than one.",
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

/** What one process may use. */
export interface MachineShare {
  readonly platform: NodeJS.Platform;
  readonly processors: number;
  readonly memoryBytes: number;
}

export function shareOfThisProcess(): MachineShare {
  const containerBytes = process.constrainedMemory(); // 0: none; cgroups without a limit report more than any machine has.
  const memoryBytes = containerBytes > 0 ? Math.min(containerBytes, totalmem()) : totalmem();
  return { platform: process.platform, processors: availableParallelism(), memoryBytes };
}

/**
 * The number to start, at least 1. Each thread has a part of every limit of the process and leads a partition, so there are no more threads
 * than that.
 */
export function threadsOf({ worker, ingress, runtime }: ThreadSettings, share: MachineShare, partitionCount: number): number {
  // Other systems do not spread the connections of one port among several listeners; a suspended server has no work.
  if (share.platform !== "linux" || runtime.mode === "suspended" || worker.storageRocksdb.commitLog) return 1;
  const limits = [
    worker.invoker.concurrentInvocationsLimit,
    ingress.concurrentApiRequestsLimit,
    ingress.requestsPerSecondLimit,
  ].filter((limit) => limit !== undefined);
  const count = worker.threads === "auto" ? automaticThreads(share, ingress) : worker.threads;
  return Math.max(1, Math.min(count, partitionCount, ...limits));
}

function automaticThreads(
  { processors, memoryBytes }: MachineShare,
  { requestsPerSecondLimit }: ThreadSettings["ingress"],
): number {
  if (requestsPerSecondLimit !== undefined) return 1; // A client with a single connection could use a part of the rate only.
  return Math.min(AUTOMATIC_MAX, Math.floor(processors / PROCESSORS_PER_THREAD), Math.floor(memoryBytes / BYTES_PER_THREAD));
}
