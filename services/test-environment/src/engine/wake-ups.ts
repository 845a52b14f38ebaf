/** Finds the next time for which an invocation waits. */
import type { InvokerWorker } from "@perdure/invoker-worker";
import type { PartitionStore } from "@perdure/storage";
import { PARTITION_COUNT } from "../limits.js";

/** Sleeps, delayed starts, retries, and rates of limits. Timeouts and retention are none: no handler waits for them. */
export async function nextWakeUpMs(store: PartitionStore, worker: InvokerWorker): Promise<number | undefined> {
  let nextMs = Number.POSITIVE_INFINITY;
  for (let partition = 0; partition < PARTITION_COUNT; partition++) {
    const [first] = await store.timers(partition, "precise", 0, 1);
    if (first !== undefined) nextMs = Math.min(nextMs, first.dueAtMs);
  }
  for (const { nextRetryAtMs } of worker.statuses()) nextMs = Math.min(nextMs, nextRetryAtMs ?? nextMs);
  if (worker.population().ready > 0) nextMs = Math.min(nextMs, await nextStartMs(worker));
  return Number.isFinite(nextMs) ? nextMs : undefined;
}

/** When the first rate allows another start. */
async function nextStartMs(worker: InvokerWorker): Promise<number> {
  let nextMs = Number.POSITIVE_INFINITY;
  for (let partition = 0; partition < PARTITION_COUNT; partition++) {
    const { queues } = await worker.flowRows(partition);
    for (const { head } of queues) if (head?.blockedOn?.kind === "rate") nextMs = Math.min(nextMs, head.blockedOn.untilMs);
  }
  return nextMs;
}
