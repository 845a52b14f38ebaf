/** Events about the environment of the single process: with direct references to what a cluster reads from workers. */
import { createEnvironmentEvents } from "@perdure/environment-events";
import { countUnfinished } from "@perdure/invoker-worker";
import { eventOptionsOf, type ProcessPorts } from "@perdure/process-kit";
import type { Roles } from "./parts.js";

/** A suspended server publishes none. */
export async function startEnvironmentEvents(roles: Roles, { lifecycle, clock, logger: root }: ProcessPorts): Promise<void> {
  const { settings, registry, metadata, partitions, subscriptions, worker, shards, store, partitionCount, listenerGuards } =
    roles;
  if (listenerGuards.isSuspended) return;
  const every = Array.from({ length: partitionCount }, (_, partition) => partition);
  const logger = root.child({ component: "events" });
  await lifecycle.start("events", () =>
    createEnvironmentEvents(
      {
        registry,
        metadata,
        partitions,
        subscriptionStatuses: () => subscriptions.statuses(),
        limits: () => shards?.rows.limits(undefined) ?? every.flatMap((partition) => worker.flowLimits(partition).limits),
        buckets: () => shards?.rows.buckets(undefined) ?? every.flatMap((partition) => worker.flowLimits(partition).buckets),
        countUsage: (id, services) => countUnfinished(store, every, id, services),
        isWhole: () => true,
        clock,
        logger,
      },
      eventOptionsOf(settings.events),
    ),
  );
}
