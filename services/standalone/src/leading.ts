/** The worker of one thread: leads the partitions of the thread, and reaches the others where they are led. */
import type { RegistryView } from "@perdure/control";
import { invokerShareOf } from "@perdure/invoker";
import {
  createInvokerWorker,
  type InvokerWorker,
  invokerOptionsOf,
  observeWorker,
  type WorkerMetrics,
  workerMetrics,
} from "@perdure/invoker-worker";
import { type ProcessPorts, requestHeadersOf } from "@perdure/process-kit";
import type { ThreadFoundation } from "./parts.js";

export async function startWorker(
  foundation: ThreadFoundation,
  registry: RegistryView,
  ports: ProcessPorts,
): Promise<InvokerWorker> {
  const { lifecycle, metrics, clock } = ports;
  const { partitionCount, plain, place } = foundation;
  const observers = workerMetrics(metrics);
  const worker = await lifecycle.start("worker", () => createWorker(foundation, registry, observers, ports));
  const partitionCounts = () => ({ leading: place.own.partitions.length, taking: 0, yielding: 0 });
  const observed = { ...worker, partitionCounts, partitionCount, connections: () => plain.connections() };
  observeWorker(metrics, observed, observers, clock);
  return worker;
}

function createWorker(
  { settings, store, transports, tracing, identity, partitionCount, place, remote }: ThreadFoundation,
  registry: RegistryView,
  metrics: WorkerMetrics,
  { lifecycle, clock, random, logger }: ProcessPorts,
): Promise<InvokerWorker> {
  const invoker = invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues);
  return createInvokerWorker(
    {
      store,
      registry,
      transports,
      tracing,
      identity,
      clock,
      random,
      logger,
      metrics,
      onFatal: (error) => lifecycle.fail(error),
      remote,
    },
    {
      partitionCount,
      partitions: place.own.partitions,
      cleanupIntervalMs: settings.worker.cleanupInterval,
      undoBytesMax: settings.undo.bytesMax,
      throttleKeysMax: settings.worker.throttleKeysLimit,
      isSuspended: settings.runtime.mode === "suspended",
      invoker: invokerShareOf(invoker, place.thread, place.threads),
    },
  );
}
