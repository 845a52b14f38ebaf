/**
 * The registry as a process of a cluster: its role on PostgreSQL, served over gRPC.
 *
 *     database ▸ registry, schedules ▸ gRPC listener    in one process only: the engine that fires schedules
 *         └─ writes of other processes ─▸ reload
 */
import {
  type Endpoints,
  openEndpoints,
  openGrpcListener,
  openPeerCredentials,
  openWorkers,
  redisOptionsOf,
  required,
  type Workers,
} from "@perdure/cluster-kit";
import { registryDefinition, registryHandlers, schedulesDefinition, schedulesHandlers, Watchers } from "@perdure/grpc";
import { createReplayCheck, invokerDefaults } from "@perdure/invoker";
import { followChanges, openPostgresMetadataStore, PostgresLeadership, type PostgresMetadataStore } from "@perdure/postgres";
import { type ProcessPorts, type ReadyFacts, requestHeadersOf, untilAvailable } from "@perdure/process-kit";
import { openProbes } from "@perdure/process-kit/http";
import { createScheduleEngine, createScheduleRunner, type Schedules } from "@perdure/schedules";
import type { CheckPorts } from "../check-ports.js";
import { kafkaClustersOf, planBoundsOf, serviceDefaultsOf } from "../config.js";
import { createDiscoveryFetcher } from "../discovery-fetcher.js";
import { databaseObserver, grpcObserver, measuredFetcher, observeRegistry } from "../metrics.js";
import { REGISTRY_PREFIX } from "../persistence.js";
import type { DiscoveryFetcher } from "../ports.js";
import { createRegistry, type RegistryRole } from "../registry.js";
import { createScheduleBook, type ManagedScheduleBook } from "../schedules.js";
import { schedulesOf } from "../schedules-open.js";
import { SCHEDULES_PREFIX } from "../schedules-stored.js";
import type { RegistrySettings } from "./config.js";
import { DeferredStore } from "./deferred-store.js";
import { leadEnvironmentEvents } from "./environment-events.js";

/**
 * Starts everything as parts of the lifecycle and resolves when registry and schedules are served; until the database can be reached the
 * process is not ready. Rejects with RT0004 (address), META0005, META0010 (database), OPS0001 (settings).
 */
export async function startRegistry(settings: RegistrySettings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, logger } = ports;
  const tls = await openPeerCredentials(settings.tls, ports);
  const url = await lifecycle.prepare(() => required("metadata.postgres-url", settings.metadata.postgresUrl).reveal());
  const workerAddresses = await lifecycle.prepare(() => required("worker.addresses", settings.worker.addresses));
  const database = { url, environment: settings.environmentName, observer: databaseObserver(ports) };

  const probePorts = { health: () => lifecycle.health, metrics: () => metrics.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  const grpcListener = await lifecycle.start("gRPC", () => openGrpcListener(settings.grpc, tls, grpcObserver(ports)));
  const workers = await lifecycle.start("workers", () => openWorkers({ addresses: workerAddresses, tls }, { clock, logger }));

  const store = await lifecycle.start("database", () =>
    untilAvailable("the database", () => openPostgresMetadataStore(database, logger), ports, lifecycle.stopping),
  );
  const endpoints = await openEndpoints(settings, ports);
  const check = await checkOf(settings, endpoints, workers, url, ports);
  const fetcher = measuredFetcher(createDiscoveryFetcher({ ...endpoints, clock }), metrics, clock);
  const roleParts = { settings, store, endpoints, fetcher, workers, check };
  const available = <T>(what: string, open: () => Promise<T>): Promise<T> =>
    lifecycle.awaitPart(what, () => untilAvailable("the database", open, ports, lifecycle.stopping));
  const registry = await available("deployments", () => openRegistry(roleParts, ports));
  const manager = await available("stored schedules", () => openScheduleBook(settings, store, registry, ports));
  await lifecycle.start("changes of other registries", () =>
    followChanges({ store, clock, logger }, [
      { prefix: REGISTRY_PREFIX, reload: () => registry.reload() },
      { prefix: SCHEDULES_PREFIX, reload: () => manager.reload() },
    ]),
  );

  const scheduleLogger = logger.child({ component: "schedules" });
  const acting = { book: manager, partitions: workers.partitions, registry, clock, logger: scheduleLogger };
  const lead = async () => createScheduleEngine(acting);
  const leadership = await lifecycle.start(
    "schedules",
    () => new PostgresLeadership({ ...database, name: "schedules" }, { lead, clock, logger: scheduleLogger }),
  );
  await lifecycle.start("events", () => leadEnvironmentEvents({ settings, database, store, registry, workers }, ports));
  const schedules: Schedules = schedulesOf(manager, createScheduleRunner(acting));
  const watchers = new Watchers(clock);
  const connections = () => store.connections();
  observeRegistry(metrics, { registry, watchers, connections, isLeading: () => leadership.isLeading });
  grpcListener.serve("perdure.control.v1.Registry", registryDefinition, registryHandlers(registry, logger, watchers));
  grpcListener.serve("perdure.control.v1.Schedules", schedulesDefinition, schedulesHandlers(schedules, logger));
  return {
    grpc: `:${grpcListener.port}`,
    probes: `http://localhost:${probes.port}/readyz`,
    identity: endpoints.identity?.publicKey,
  };
}

// ── below the role ───────────────────────────────────────────────────────────────────────────────

/** Undefined without Redis: then deployments cannot be checked against stored invocations. */
async function checkOf(
  settings: RegistrySettings,
  { transports, identity }: Endpoints,
  workers: Workers,
  postgresUrl: string,
  { lifecycle, clock, logger }: ProcessPorts,
): Promise<CheckPorts | undefined> {
  if (settings.redis.url === undefined) return undefined;
  const redis = await lifecycle.prepare(() => redisOptionsOf(settings.redis, "perdure-registry"));
  const options = { redis, postgresUrl, environment: settings.environmentName };
  const store = await lifecycle.start("partition store", () => new DeferredStore(options, { clock, logger }));
  const invokerOptions = { ...invokerDefaults, additionalRequestHeaders: requestHeadersOf(settings) };
  return {
    get partitionCount() {
      return workers.directory.partitionCount;
    },
    store,
    replays: createReplayCheck({ transports, identity, clock, logger }, invokerOptions),
  };
}

// ── roles ────────────────────────────────────────────────────────────────────────────────────────

interface RoleParts {
  readonly settings: RegistrySettings;
  readonly store: PostgresMetadataStore;
  readonly endpoints: Endpoints;
  readonly fetcher: DiscoveryFetcher;
  readonly workers: Workers;
  readonly check: CheckPorts | undefined;
}

function openRegistry(
  { settings, store, endpoints, fetcher, workers, check }: RoleParts,
  { clock, random, logger }: ProcessPorts,
): Promise<RegistryRole> {
  return createRegistry(
    {
      metadata: store,
      fetcher,
      guard: endpoints.guard,
      tunnels: endpoints.tunnels,
      countUsage: (id, services) => workers.rows.countUsage(id, services),
      check,
      clock,
      random,
      logger: logger.child({ component: "registry" }),
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

function openScheduleBook(
  settings: RegistrySettings,
  metadata: PostgresMetadataStore,
  registry: RegistryRole,
  { clock, random, logger }: ProcessPorts,
): Promise<ManagedScheduleBook> {
  const parts = { metadata, registry, clock, random, logger: logger.child({ component: "schedules" }) };
  return createScheduleBook(parts, { scopesEnabled: settings.experimentalEnableVqueues });
}
