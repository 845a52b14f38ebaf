/** A registry for tests: a store in memory, Node's clients to endpoints, retries that cost no time. */
import { type Clock, silentLogger, systemRandom } from "@perdure/base";
import type { EgressGuard } from "@perdure/egress";
import { createMemoryMetadataStore, type DeploymentUsage, type MetadataStore } from "@perdure/metadata";
import type { TunnelRoutes } from "@perdure/tunnel";
import type { CheckPorts } from "../check-ports.js";
import { SERVICE_DEFAULTS } from "../defaults.js";
import type { DiscoveryFetcher } from "../ports.js";
import { createRegistry, type RegistryOptions, type RegistryRole } from "../registry.js";
import { createNodeFetcher } from "./node-fetcher.js";

export interface TestRegistrySetup {
  metadata?: MetadataStore;
  fetcher?: DiscoveryFetcher;
  usage?: DeploymentUsage;
  options?: Partial<RegistryOptions>;
  nowMs?: () => number;
  /** Replaces the clock whose timers fire at once. */
  clock?: Clock;
  check?: CheckPorts;
  guard?: EgressGuard;
  tunnels?: TunnelRoutes;
}

/** Everything not named has the defaults of a new server. */
export function createTestRegistry(setup: TestRegistrySetup = {}): Promise<RegistryRole> {
  return createRegistry(
    {
      metadata: setup.metadata ?? createMemoryMetadataStore(),
      fetcher: setup.fetcher ?? createNodeFetcher(),
      countUsage: async () => setup.usage ?? { pinned: 0, unfinishedByService: new Map() },
      check: setup.check,
      guard: setup.guard,
      tunnels: setup.tunnels,
      clock: setup.clock ?? hastyClock(setup.nowMs ?? Date.now),
      random: systemRandom,
      logger: silentLogger,
    },
    {
      defaults: SERVICE_DEFAULTS,
      requestHeaders: { "x-restate-cluster-name": "localcluster" },
      routingHeaders: [],
      kafkaClusters: new Map(),
      ...setup.options,
    },
  );
}

/** Timers fire on the next turn of the event loop, however long they were meant to be. */
function hastyClock(nowMs: () => number): Clock {
  return {
    nowMs,
    monotonicMs: () => performance.now(),
    setTimer(_delayMs, fire) {
      const immediate = setImmediate(fire);
      return { cancel: () => clearImmediate(immediate) };
    },
  };
}
