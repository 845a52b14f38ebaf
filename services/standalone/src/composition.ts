/**
 * Composes the single process: embedded drivers, the roles' own functions on them, and direct references where a cluster uses clients.
 *
 *     directories ▸ stores ▸ registry ▸ worker (leads all partitions) ▸ admin API ▸ ingress ▸ subscriptions
 *
 * Sources of work start last: callers and topics would fill the event loop in which everything else is still starting.
 */
import {
  type AdminPorts,
  createCallEndpoint,
  openAdminListener,
  openBatches,
  openSharedBatches,
  sqlEndings,
  sqlOptionsOf,
  type UsageReport,
} from "@perdure/admin-api";
import { type Clock, PerdureError, Secret } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { EgressGuard } from "@perdure/egress";
import { createRequestIdentity, type EndpointTransport, type RequestIdentity } from "@perdure/endpoint-transport";
import { createHttpTransport, type HttpTransportDeps } from "@perdure/http-client";
import { createIngress, ingressMetrics, ingressOptionsOf, observeIngress } from "@perdure/ingress-gateway";
import {
  createSqlProcesses,
  createStoreThread,
  liveRowsOf,
  type SourceDescription,
  type SqlEngine,
} from "@perdure/introspection";
import { createReplayCheck } from "@perdure/invoker";
import {
  createInvokerWorker,
  type InvokerWorker,
  invokerOptionsOf,
  observeSubscriptions,
  observeWorker,
  type WorkerMetrics,
  workerMetrics,
} from "@perdure/invoker-worker";
import { createKafkaSource } from "@perdure/kafka";
import { createLambdaTransport } from "@perdure/lambda";
import { type LevelStore, openLevelKeyValue, openLevelMetadataStore, prepareStorageDirectory } from "@perdure/leveldb";
import type { MetadataStore } from "@perdure/metadata";
import {
  createDiscoveryFetcher,
  createRegistry,
  kafkaClustersOf,
  measuredFetcher,
  openSchedules,
  planBoundsOf,
  type RegistryRole,
  serviceDefaultsOf,
} from "@perdure/registry";
import {
  CommitProbe,
  egressGuardOf,
  type ProcessPorts,
  readSettingFile,
  recordScopesOf,
  requestHeadersOf,
  type TunnelSetup,
  tracedEdge,
  tunnelsOf,
} from "@perdure/role";
import { type BoundListener, checkAddress, openListener } from "@perdure/role/http";
import { invocationSpans, invocationTracing, recordSpans, tracedTransport } from "@perdure/role/tracing";
import type { Schedules } from "@perdure/schedules";
import { ActionMeter, KvPartitionStore, type PartitionStore, type StoredPartitions, storedPartitions } from "@perdure/storage";
import { type Deliveries, runSubscriptions, type Subscriptions } from "@perdure/subscriptions";
import { createTunnelTransport, TunnelRoutes } from "@perdure/tunnel";
import { clusterOfOne } from "./cluster-of-one.js";
import { directoriesOf, type StandaloneSettings } from "./config.js";
import { LocalDataSet } from "./data-set.js";
import { limitedPartitions, type StorageFull, storageIsFull } from "./limited-partitions.js";
import { STORAGE_HELD_RETRY_MS } from "./limits.js";
import { adminGuard, type GuardOptions, ingressGuard } from "./runtime-guard.js";
import { StorageLimit } from "./storage-limit.js";

/** Bundled beside this module's bundle. */
const SQL_STORE_THREAD = new URL("./sql-store-thread.mjs", import.meta.url);
const SQL_PROCESS = new URL("./sql-process.mjs", import.meta.url);

/** Addresses at which the listeners were bound; different from the settings when those have port 0. */
export interface BoundPorts {
  readonly ingressPort: number;
  readonly adminPort: number;
  /** Public key with which endpoints check signatures; undefined when requests are not signed. */
  readonly identityPublicKey: string | undefined;
}

/**
 * Starts everything as parts of the lifecycle and resolves when both listeners are open. Rejects with RT0004 (address), RT0005 (locked),
 * RT0009, META0010, META0011 (version of a directory), META0005 (damaged metadata), STO0005 (directories that do not belong together),
 * STO… (storage), OPS0001 (identity key).
 */
export async function startStandalone(settings: StandaloneSettings, ports: ProcessPorts): Promise<BoundPorts> {
  const { lifecycle, metrics, clock, random, logger } = ports;
  const identity = await lifecycle.prepare(() => identityOf(settings, clock));
  const listenerGuards = await lifecycle.prepare(() => guardsOf(settings));
  const { isSuspended } = listenerGuards;
  const tunnels = await lifecycle.prepare(() => tunnelsOf(settings));
  // Before any partition is led or work resumed: an unreachable server should not run handlers.
  await lifecycle.prepare(() => checkAddress(settings.ingress, "ingress.bind-port"));
  await lifecycle.prepare(() => checkAddress(settings.admin, "admin.bind-port"));
  await lifecycle.prepare(() => recordScopesOf(settings));

  const directories = directoriesOf(settings);
  const { numPartitions, acceptDataLoss } = settings.worker;
  const dataSet = new LocalDataSet({ directories, numPartitions, acceptDataLoss }, { clock, random, logger });
  await lifecycle.prepare(() => dataSet.checkDirectories(() => readStoredPartitions(directories.partitions)));
  const metadata = await lifecycle.start("metadata store", () => openMetadata(directories.metadata));
  const newMark = await lifecycle.prepare(() => dataSet.beforePartitions(metadata));
  const directory = await lifecycle.prepare(() => partitionsDirectory(directories.partitions));
  const check = (stored: StoredPartitions) => dataSet.check(metadata, stored, newMark);
  const partitioned = await lifecycle.start("partition store", () => openPartitions(directory, newMark, check));
  const { store, usage, level } = partitioned;
  const partitionCount = await lifecycle.prepare(() => dataSet.finish(metadata, partitioned));

  // Parts before the worker call it only later, on use.
  const deferred: DeferredServerParts = { worker: undefined, subscriptions: undefined, ingressPort: undefined };
  const tracing = invocationTracing(ports);
  const traced = (plain: EndpointTransport): EndpointTransport =>
    tracing === undefined ? plain : tracedTransport(plain, () => deferred.worker?.partitions, tracing);
  const guard = egressGuardOf(settings.egress, logger);
  const plain = createHttpTransport({ clock, random, guard });
  const http = await lifecycle.start("endpoint transport", () => traced(openTransport(tunnels, plain, { clock, random })));
  const lambdaOptions = { assumeRoleExternalId: settings.awsAssumeRoleExternalId, rolesOnly: guard !== undefined };
  const lambda = await lifecycle.start("Lambda transport", () => traced(createLambdaTransport(lambdaOptions)));
  const transports = { http, lambda };
  const registryParts = { settings, metadata, store, partitionCount, transports, identity, guard, tunnels, deferred };
  const registry = await lifecycle.prepare(() => openRegistry(registryParts, ports));
  const workerObservers = workerMetrics(metrics);
  const workerParts = { settings, store, registry, transports, identity, partitionCount };
  const worker = await lifecycle.start("worker", () => startWorker(workerParts, workerObservers, ports));
  deferred.worker = worker;
  const partitionCounts = () => ({ leading: partitionCount, taking: 0, yielding: 0 });
  observeWorker(
    metrics,
    { ...worker, partitionCounts, partitionCount, connections: () => plain.connections() },
    workerObservers,
    clock,
  );
  const bytesMax = settings.limits.storedBytes;
  const storage =
    bytesMax === undefined
      ? undefined
      : await lifecycle.start("storage limit", () => openStorageLimit(bytesMax, level, worker, ports));
  const guards = { ...listenerGuards, storage };
  const partitions = limitedPartitions(worker.partitions, storage);

  const ingress = createIngress(
    {
      registry,
      partitions,
      clock,
      random,
      logger: logger.child({ component: "ingress" }),
      metrics: ingressMetrics(metrics),
      startSpan: tracing === undefined ? undefined : invocationSpans(tracing),
      edge: tracedEdge(ports, "server"),
    },
    { ...ingressOptionsOf(settings.ingress, settings.experimentalEnableVqueues), http: { guard: ingressGuard(guards) } },
  );
  observeIngress(metrics, ingress, () => 0);
  const scopesEnabled = settings.experimentalEnableVqueues;
  const scheduleLogger = logger.child({ component: "schedules" });
  const scheduleParts = { metadata, registry, partitions, scopesEnabled, isSuspended, clock, random, logger: scheduleLogger };
  const schedules = await lifecycle.start("schedules", () => openSchedules(scheduleParts));
  const cluster = clusterOfOne(settings.nodeName, worker, partitionCount, clock.nowMs());
  const live = liveRowsOf({ invoker: worker, registry, flow: worker, schedules, cluster, partitionCount, clock });
  const source: SourceDescription = { store: { kind: "served" }, partitionCount };
  const sqlLogger = logger.child({ component: "sql" });
  const onEnd = sqlEndings(metrics);
  const storeService = createStoreThread({ entry: SQL_STORE_THREAD, store: directory, clock, logger: sqlLogger });
  const sqlPorts = { entry: SQL_PROCESS, source, storeService, live, onEnd, clock, random, logger: sqlLogger };
  const sql = await lifecycle.start("SQL engine", () => createSqlProcesses(sqlPorts, sqlOptionsOf(settings.admin)));
  const insight = { partitionCount, store, invoker: worker };
  const batchParts = { registry, partitions, insight, metadata, clock, random, logger: logger.child({ component: "batches" }) };
  const batches = await lifecycle.start("batches", () => (isSuspended ? openSharedBatches(batchParts) : openBatches(batchParts)));
  const callEndpoint = createCallEndpoint({ transports, identity, clock });
  const stored = { registry, partitions, schedules, sql, insight, batches };
  // Behind a gateway the server runs a tenant's production.
  const mayCrash = guards.secret === undefined && !settings.admin.disableCrashAttempt;
  const crashAttempt = mayCrash ? worker.cutAttempt : undefined;
  // A key that is never written: no partition has it, and deleting nothing is a commit like any other.
  const commits = new CommitProbe(() => level.write(new Map([["\u00ffcommit probe", null]])), clock);
  const adminParts = { ...stored, commits, callEndpoint, usage, crashAttempt, guards, deferred };
  const adminListener = await lifecycle.start("admin API", () => openAdmin(settings, adminParts, ports));
  const ingressListener = await lifecycle.start("ingress", () => openListener(settings.ingress, ingress.listen, ingress.close));
  deferred.ingressPort = ingressListener.port;
  const subscriptionLogger = logger.child({ component: "subscriptions" });
  const topics = {
    scopesEnabled: recordScopesOf(settings),
    registry,
    source: createKafkaSource({ clock, logger: subscriptionLogger, guard, awsExternalId: settings.awsAssumeRoleExternalId }),
    deliveries: storage === undefined ? worker.deliveries : deliveriesUntilFull(worker.deliveries, storage),
  };
  const traceRecord = tracing === undefined ? undefined : recordSpans(tracing);
  deferred.subscriptions = isSuspended
    ? undefined
    : await lifecycle.start("subscriptions", () =>
        runSubscriptions({ ...topics, clock, logger: subscriptionLogger, traceRecord }),
      );
  if (deferred.subscriptions !== undefined) observeSubscriptions(metrics, deferred.subscriptions);
  return { ingressPort: ingressListener.port, adminPort: adminListener.port, identityPublicKey: identity?.publicKey };
}

function openStorageLimit(
  bytesMax: number,
  storage: LevelStore,
  worker: InvokerWorker,
  { clock, logger }: ProcessPorts,
): Promise<StorageLimit> {
  const { code, detail } = storageIsFull(bytesMax);
  const reason = { errorCode: code, message: detail, nextRetryDelayMs: STORAGE_HELD_RETRY_MS };
  const onHeld = (isHeld: boolean): void => worker.hold(isHeld ? reason : undefined);
  return StorageLimit.open({ storage, onHeld, clock, logger }, bytesMax);
}

/** Records wait in their topics. */
function deliveriesUntilFull({ partitionCount, deliver }: Deliveries, storage: StorageFull): Deliveries {
  return {
    partitionCount,
    deliver(record, delivered, undelivered) {
      if (storage.isFull) undelivered();
      else deliver(record, delivered, undelivered);
    },
  };
}

interface AdminParts {
  readonly registry: RegistryRole;
  readonly partitions: Partitions;
  readonly schedules: Schedules;
  readonly sql: SqlEngine;
  readonly insight: AdminPorts["insight"];
  readonly batches: AdminPorts["batches"];
  readonly commits: CommitProbe;
  readonly callEndpoint: AdminPorts["callEndpoint"];
  readonly usage: () => Promise<UsageReport>;
  readonly crashAttempt: AdminPorts["crashAttempt"];
  readonly guards: GuardOptions;
  readonly deferred: DeferredServerParts;
}

function openAdmin(
  settings: StandaloneSettings,
  { sql, commits, guards, deferred, ...parts }: AdminParts,
  ports: ProcessPorts,
): Promise<BoundListener> {
  const { lifecycle, metrics, clock, random, logger: root } = ports;
  const logger = root.child({ component: "admin" });
  const { advertisedAddress, bindPort } = settings.ingress;
  const ingressPort = (): number => deferred.ingressPort ?? bindPort;
  return openAdminListener(
    settings.admin,
    {
      ...parts,
      subscriptionStatuses: () => deferred.subscriptions?.statuses() ?? [],
      sql: sql.query,
      health: () => lifecycle.health,
      isCommitting: () => commits.isCommitting(),
      metrics: () => metrics.text(),
      measures: metrics,
      edge: tracedEdge(ports, "server"),
      clock,
      random,
      logger,
    },
    {
      ingressEndpoint: () => advertisedAddress ?? `http://localhost:${ingressPort()}/`,
      ingressPort: advertisedAddress === undefined ? ingressPort : undefined,
      clusterName: settings.clusterName,
      scopesEnabled: settings.experimentalEnableVqueues,
      recordScopesEnabled: recordScopesOf(settings),
    },
    // A runtime serves only its gateway, which has a console of its own.
    { guard: adminGuard(guards), showsConsole: guards.secret === undefined },
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

async function readStoredPartitions(path: string): Promise<StoredPartitions> {
  await using level = await openLevelKeyValue(await partitionsDirectory(path));
  return storedPartitions(level);
}

/** The stores, and their size. */
interface OpenPartitions extends AsyncDisposable {
  readonly store: KvPartitionStore;
  readonly usage: () => Promise<UsageReport>;
  readonly level: LevelStore;
  /** State found before anything was written. */
  readonly stored: StoredPartitions;
  /** Id of the data set; usage is reported under the same name. */
  readonly mark: string;
}

/** `newMark` is for data without a mark; nothing is written when `check` rejects. */
async function openPartitions(
  directory: string,
  newMark: string,
  check: (stored: StoredPartitions) => Promise<void>,
): Promise<OpenPartitions> {
  const level = await openLevelKeyValue(directory);
  let stored: StoredPartitions;
  let meter: ActionMeter;
  try {
    stored = storedPartitions(level);
    await check(stored);
    meter = await ActionMeter.open(level, () => newMark);
  } catch (cause) {
    await level[Symbol.asyncDispose]();
    throw cause;
  }
  const store = new KvPartitionStore(level, meter);
  return {
    store,
    level,
    stored,
    mark: meter.source,
    async usage() {
      const storedBytes = await level.storedBytes();
      return { source: meter.source, actions: meter.actions, storedBytes };
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Throws OPS0001 when the file with the secret cannot be read or is empty. */
function guardsOf({ runtime: { secretFile, mode } }: StandaloneSettings): GuardOptions {
  const isSuspended = mode === "suspended";
  if (secretFile === undefined) return { secret: undefined, isSuspended };
  const secret = readSettingFile("runtime.secret-file", secretFile).trim();
  if (secret === "") throw new PerdureError("OPS0001", `'runtime.secret-file' ${secretFile} is empty`);
  return { secret: new Secret(secret), isSuspended };
}

/** Throws OPS0001 when the file cannot be read or holds anything but one Ed25519 key. */
function identityOf({ requestIdentityPrivateKeyPemFile: file }: StandaloneSettings, clock: Clock): RequestIdentity | undefined {
  if (file === undefined) return undefined;
  return createRequestIdentity(new Secret(readSettingFile("request-identity-private-key-pem-file", file)), clock);
}

// ── roles ────────────────────────────────────────────────────────────────────────────────────────

/** Transports to endpoints. */
interface Transports {
  readonly http: EndpointTransport;
  readonly lambda: EndpointTransport;
}

/** Parts that are created only after the parts that use them at run time. */
interface DeferredServerParts {
  worker: InvokerWorker | undefined;
  /** None while nothing is consumed. */
  subscriptions: Subscriptions | undefined;
  /** The bound address; different from the setting when that has port 0. */
  ingressPort: number | undefined;
}

/** Reaches endpoints behind tunnels too, when there are some: the proxy belongs to the operator, so the guard does not check it. */
function openTransport(tunnels: TunnelSetup | undefined, plain: EndpointTransport, deps: HttpTransportDeps): EndpointTransport {
  if (tunnels === undefined) return plain;
  const { access, ca } = tunnels;
  const toProxy = createHttpTransport(deps, ca === undefined ? {} : { trustedCertificates: ca });
  return createTunnelTransport({ plain, toProxy }, access);
}

interface RegistryParts {
  readonly settings: StandaloneSettings;
  readonly metadata: MetadataStore;
  readonly store: PartitionStore;
  readonly partitionCount: number;
  readonly transports: Transports;
  readonly identity: RequestIdentity | undefined;
  readonly guard: EgressGuard | undefined;
  readonly tunnels: TunnelSetup | undefined;
  readonly deferred: DeferredServerParts;
}

function openRegistry(
  { settings, metadata, store, partitionCount, transports, identity, guard, tunnels, deferred }: RegistryParts,
  { metrics, clock, random, logger: root }: ProcessPorts,
): Promise<RegistryRole> {
  const logger = root.child({ component: "registry" });
  const invokerOptions = invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues);
  const replays = createReplayCheck({ transports, identity, clock, logger }, invokerOptions);
  const routes = new TunnelRoutes(tunnels?.access);
  return createRegistry(
    {
      metadata,
      fetcher: measuredFetcher(createDiscoveryFetcher({ transports, identity, clock, guard, tunnels: routes }), metrics, clock),
      guard,
      tunnels: routes,
      countUsage(id, services) {
        if (deferred.worker === undefined) throw new PerdureError("OPS0004", "the worker has not started yet");
        return deferred.worker.countUsage(id, services);
      },
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

interface WorkerParts {
  readonly settings: StandaloneSettings;
  readonly store: PartitionStore;
  readonly registry: RegistryRole;
  readonly transports: Transports;
  readonly identity: RequestIdentity | undefined;
  readonly partitionCount: number;
}

function startWorker(
  { settings, store, registry, transports, identity, partitionCount }: WorkerParts,
  metrics: WorkerMetrics,
  { lifecycle, clock, random, logger }: ProcessPorts,
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
      metrics,
      onFatal: (error) => lifecycle.fail(error),
    },
    {
      partitionCount,
      cleanupIntervalMs: settings.worker.cleanupInterval,
      isSuspended: settings.runtime.mode === "suspended",
      invoker: invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues),
    },
  );
}
