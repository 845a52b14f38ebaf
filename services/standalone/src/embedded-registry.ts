/** The registry of the single process: on the embedded metadata, with direct references to the stored invocations. */
import { createReplayCheck } from "@perdure/invoker";
import { countUnfinished, invokerOptionsOf } from "@perdure/invoker-worker";
import { type ProcessPorts, requestHeadersOf } from "@perdure/process-kit";
import {
  createDiscoveryFetcher,
  createRegistry,
  kafkaClustersOf,
  measuredFetcher,
  planBoundsOf,
  type RegistryRole,
  serviceDefaultsOf,
} from "@perdure/registry";
import { TunnelRoutes } from "@perdure/tunnel";
import type { ThreadFoundation } from "./parts.js";
import type { Stores } from "./stores.js";

type RegistryBases = Pick<Stores, "metadata"> & Omit<ThreadFoundation, "remote">;

export function openRegistry(
  { settings, metadata, store, partitionCount, transports, identity, guard, tunnels }: RegistryBases,
  { metrics, clock, random, logger: root }: ProcessPorts,
): Promise<RegistryRole> {
  const logger = root.child({ component: "registry" });
  const invokerOptions = invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues);
  const replays = createReplayCheck({ transports, identity, clock, logger }, invokerOptions);
  const partitions = Array.from({ length: partitionCount }, (_, partition) => partition);
  const routes = new TunnelRoutes(tunnels?.access);
  return createRegistry(
    {
      metadata,
      fetcher: measuredFetcher(createDiscoveryFetcher({ transports, identity, clock, guard, tunnels: routes }), metrics, clock),
      guard,
      tunnels: routes,
      countUsage: (id, services) => countUnfinished(store, partitions, id, services),
      check: { partitionCount, store, replays },
      clock,
      random,
      logger,
    },
    {
      defaults: { ...serviceDefaultsOf(settings.worker), retentionMaxMs: settings.limits.retention },
      requestHeaders: requestHeadersOf(settings),
      routingHeaders: [],
      kafkaClusters: kafkaClustersOf(settings.ingress.kafkaClusters),
      bounds: planBoundsOf(settings.limits),
    },
  );
}
