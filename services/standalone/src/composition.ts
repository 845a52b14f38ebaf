/**
 * Why: the one place where a single process is put together: embedded drivers below, the roles' own functions on them, objects
 * passed where a cluster passes clients.
 *
 *     directories ▸ stores ▸ registry ▸ worker (leads all partitions) ▸ ingress, admin API
 */
import { type AdminPorts, createAskEndpoint, openAdminDoor, openBatches, sqlOptionsOf } from "@perdure/admin-api";
import { type Clock, PerdureError, Secret } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import { createHttpTransport } from "@perdure/driver-http2";
import { createKafkaSource } from "@perdure/driver-kafka";
import { createLambdaTransport } from "@perdure/driver-lambda";
import { openLevelKeyValue, openLevelMetadataStore, prepareStorageDirectory } from "@perdure/driver-level";
import { createIngress, ingressMetrics, ingressOptionsOf } from "@perdure/ingress-gateway";
import { createReplayCheck, createRequestIdentity, type EndpointTransport, type RequestIdentity } from "@perdure/invoker";
import {
  createInvokerWorker,
  type InvokerWorker,
  invokerMetrics,
  invokerOptionsOf,
  observeWorker,
} from "@perdure/invoker-worker";
import type { MetadataStore } from "@perdure/metadata";
import {
  createDiscoveryFetcher,
  createRegistry,
  kafkaClustersOf,
  openSchedules,
  type RegistryRole,
  serviceDefaultsOf,
} from "@perdure/registry";
import { type ProcessPorts, readSettingFile, requestHeadersOf } from "@perdure/role";
import { checkAddress, type Door, openDoor } from "@perdure/role/http";
import { invocationSpans, tracedTransport } from "@perdure/role/tracing";
import type { Schedules } from "@perdure/schedule";
import { createSqlThread, liveRowsOf, type SourceDescription, type SqlEngine } from "@perdure/sql";
import { KvPartitionStore, type PartitionStore } from "@perdure/store";
import { runSubscriptions, type Subscriptions } from "@perdure/subscription";
import { directoriesOf, type Settings } from "./config.js";
import { partitionCountOf } from "./partition-count.js";

/** Bundled beside this module's bundle. */
const SQL_THREAD = new URL("./sql-thread.mjs", import.meta.url);

/** Where the doors were bound; different from the settings when those say port 0. */
export interface Doors {
  readonly ingressPort: number;
  readonly adminPort: number;
  /** What endpoints check signatures with; undefined when requests are not signed. */
  readonly identityPublicKey: string | undefined;
}

/**
 * Starts everything as parts of the lifecycle and resolves when both doors answer. Rejects with RT0004 (address), RT0005 (locked),
 * RT0009, META0010, META0011 (version of a directory), META0005 (damaged metadata), STO… (storage), OPS0001 (identity key).
 */
export async function startStandalone(settings: Settings, ports: ProcessPorts): Promise<Doors> {
  const { lifecycle, metrics, tracer, clock, random, logger } = ports;
  const identity = await lifecycle.prepare(() => identityOf(settings, clock));
  // Before anything is led or resumed: a server that cannot be reached should not run anybody's handlers.
  await lifecycle.prepare(() => checkAddress(settings.ingress));
  await lifecycle.prepare(() => checkAddress(settings.admin));

  const directories = directoriesOf(settings);
  const metadata = await lifecycle.start("metadata store", () => openMetadata(directories.metadata));
  const directory = await lifecycle.prepare(() => partitionsDirectory(directories.partitions));
  const store = await lifecycle.start("partition store", () => openPartitions(directory));
  const partitionCount = await lifecycle.prepare(() => partitionCountOf(metadata, settings.worker.numPartitions, logger));

  // What comes before the worker asks it only later, when somebody uses it.
  const late: Late = { worker: undefined };
  const traced = (plain: EndpointTransport): EndpointTransport =>
    tracer.enabled ? tracedTransport(plain, () => late.worker?.partitions, { tracer, clock, random, logger }) : plain;
  const http = await lifecycle.start("endpoint transport", () => traced(createHttpTransport({ clock, random })));
  const lambdaOptions = { assumeRoleExternalId: settings.awsAssumeRoleExternalId };
  const lambda = await lifecycle.start("Lambda transport", () => traced(createLambdaTransport(lambdaOptions)));
  const transports = { http, lambda };
  const registryParts = { settings, metadata, store, partitionCount, transports, identity, late };
  const registry = await lifecycle.prepare(() => openRegistry(registryParts, ports));
  const workerParts = { settings, store, registry, transports, identity, partitionCount };
  const worker = await lifecycle.start("worker", () => startWorker(workerParts, ports));
  late.worker = worker;
  const { partitions } = worker;
  observeWorker(metrics, worker);

  const ingress = createIngress(
    {
      registry,
      partitions,
      clock,
      random,
      logger: logger.child({ component: "ingress" }),
      metrics: ingressMetrics(metrics),
      startSpan: tracer.enabled ? invocationSpans({ tracer, clock, random, logger }) : undefined,
    },
    ingressOptionsOf(settings.ingress, settings.experimentalEnableVqueues),
  );
  const ingressDoor = await lifecycle.start("ingress", () => openDoor(settings.ingress, ingress.listen, ingress.close));
  const scopesEnabled = settings.experimentalEnableVqueues;
  const scheduleLogger = logger.child({ component: "schedules" });
  const scheduleParts = { metadata, registry, partitions, scopesEnabled, clock, random, logger: scheduleLogger };
  const subscriptionLogger = logger.child({ component: "subscriptions" });
  const topics = { registry, source: createKafkaSource({ clock, logger: subscriptionLogger }), deliveries: worker.deliveries };
  const subscriptions = await lifecycle.start("subscriptions", () =>
    runSubscriptions({ ...topics, clock, logger: subscriptionLogger }),
  );
  const schedules = await lifecycle.start("schedules", () => openSchedules(scheduleParts));
  const live = liveRowsOf({ invoker: worker, registry, flow: worker, schedules, partitionCount, clock });
  const source: SourceDescription = { store: { kind: "level", directory }, partitionCount };
  const sqlPorts = { entry: SQL_THREAD, source, live, clock, logger: logger.child({ component: "sql" }) };
  const sql = await lifecycle.start("SQL engine", () => createSqlThread(sqlPorts, sqlOptionsOf(settings.admin)));
  const insight = { partitionCount, store, invoker: worker };
  const batchParts = { registry, partitions, insight, metadata, clock, random, logger: logger.child({ component: "batches" }) };
  const batches = await lifecycle.start("batches", () => openBatches(batchParts));
  const askEndpoint = createAskEndpoint({ transports, identity, clock });
  const stored = { registry, partitions, schedules, subscriptions, sql, insight, batches };
  const adminParts = { ...stored, askEndpoint, ingressPort: ingressDoor.port };
  const adminDoor = await lifecycle.start("admin API", () => openAdmin(settings, adminParts, ports));
  return { ingressPort: ingressDoor.port, adminPort: adminDoor.port, identityPublicKey: identity?.publicKey };
}

interface AdminParts {
  readonly registry: RegistryRole;
  readonly partitions: Partitions;
  readonly schedules: Schedules;
  readonly subscriptions: Subscriptions;
  readonly sql: SqlEngine;
  readonly insight: AdminPorts["insight"];
  readonly batches: AdminPorts["batches"];
  readonly askEndpoint: AdminPorts["askEndpoint"];
  readonly ingressPort: number;
}

function openAdmin(
  settings: Settings,
  { registry, partitions, schedules, subscriptions, sql, insight, batches, askEndpoint, ingressPort }: AdminParts,
  { lifecycle, metrics, clock, random, logger: root }: ProcessPorts,
): Promise<Door> {
  const logger = root.child({ component: "admin" });
  return openAdminDoor(
    settings.admin,
    {
      registry,
      partitions,
      schedules,
      subscriptionStatuses: subscriptions.statuses,
      sql: sql.query,
      insight,
      batches,
      askEndpoint,
      health: () => lifecycle.health,
      metrics: () => metrics.text(),
      clock,
      random,
      logger,
    },
    {
      ingressEndpoint: settings.ingress.advertisedAddress ?? `http://localhost:${ingressPort}/`,
      clusterName: settings.clusterName,
      scopesEnabled: settings.experimentalEnableVqueues,
    },
  );
}

// ── below the roles ──────────────────────────────────────────────────────────────────────────────

async function openMetadata(path: string): Promise<MetadataStore> {
  const directory = await prepareStorageDirectory({ path, setting: "meta.storage-path", missing: "META0011" });
  return openLevelMetadataStore(directory);
}

function partitionsDirectory(path: string): Promise<string> {
  return prepareStorageDirectory({ path, setting: "worker.storage-rocksdb.path", missing: "RT0009" });
}

async function openPartitions(directory: string): Promise<PartitionStore> {
  return new KvPartitionStore(await openLevelKeyValue(directory));
}

/** Throws OPS0001 when the file cannot be read or holds something else than one Ed25519 key. */
function identityOf({ requestIdentityPrivateKeyPemFile: file }: Settings, clock: Clock): RequestIdentity | undefined {
  if (file === undefined) return undefined;
  return createRequestIdentity(new Secret(readSettingFile("request-identity-private-key-pem-file", file)), clock);
}

// ── roles ────────────────────────────────────────────────────────────────────────────────────────

/** How endpoints are reached. */
interface Transports {
  readonly http: EndpointTransport;
  readonly lambda: EndpointTransport;
}

/** The worker, once it is there. */
interface Late {
  worker: InvokerWorker | undefined;
}

interface RegistryParts {
  readonly settings: Settings;
  readonly metadata: MetadataStore;
  readonly store: PartitionStore;
  readonly partitionCount: number;
  readonly transports: Transports;
  readonly identity: RequestIdentity | undefined;
  readonly late: Late;
}

function openRegistry(
  { settings, metadata, store, partitionCount, transports, identity, late }: RegistryParts,
  { clock, random, logger: root }: ProcessPorts,
): Promise<RegistryRole> {
  const logger = root.child({ component: "registry" });
  const invokerOptions = invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues);
  const replays = createReplayCheck({ transports, identity, clock, logger }, invokerOptions);
  return createRegistry(
    {
      metadata,
      fetcher: createDiscoveryFetcher({ transports, identity, clock }),
      countUsage(id, services) {
        if (late.worker === undefined) throw new PerdureError("OPS0004", "the worker is not there yet");
        return late.worker.countUsage(id, services);
      },
      check: { partitionCount, store, replays },
      clock,
      random,
      logger,
    },
    {
      defaults: serviceDefaultsOf(settings.worker),
      requestHeaders: requestHeadersOf(settings),
      routingHeaders: [],
      kafkaClusters: kafkaClustersOf(settings.ingress.kafkaClusters),
    },
  );
}

interface WorkerParts {
  readonly settings: Settings;
  readonly store: PartitionStore;
  readonly registry: RegistryRole;
  readonly transports: Transports;
  readonly identity: RequestIdentity | undefined;
  readonly partitionCount: number;
}

function startWorker(
  { settings, store, registry, transports, identity, partitionCount }: WorkerParts,
  { lifecycle, metrics, clock, random, logger }: ProcessPorts,
): Promise<InvokerWorker> {
  return createInvokerWorker(
    {
      store,
      registry,
      transports,
      identity,
      clock,
      random,
      logger,
      metrics: invokerMetrics(metrics),
      onFatal: (error) => lifecycle.fail(error),
    },
    {
      partitionCount,
      cleanupIntervalMs: settings.worker.cleanupInterval,
      invoker: invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues),
    },
  );
}
