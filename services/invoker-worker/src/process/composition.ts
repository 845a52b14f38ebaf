/**
 * The worker as a process of a cluster: partitions in Redis by lease, services from the registry's state, requests over gRPC.
 *
 *     Redis ▸ registry's state ▸ endpoint transports ▸ leads its share of partitions ▸ gRPC listener ▸ reads topics
 *
 * On a stop signal it gives its partitions away one by one before anything else of it closes.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "@perdure/base";
import {
  openEndpoints,
  openGrpcListener,
  openPeerCredentials,
  openRegistryClient,
  redisOptionsOf,
  required,
} from "@perdure/cluster-kit";
import { partitionsDefinition, partitionsHandlers } from "@perdure/grpc";
import { createKafkaSource } from "@perdure/kafka";
import { type Archiving, createArchiving } from "@perdure/partition-processor";
import { deferredPostgresArchive } from "@perdure/postgres";
import {
  CommitProbe,
  POLL_METRICS_MS,
  type ProcessPorts,
  pollMetrics,
  type ReadyFacts,
  recordScopesOf,
  requestHeadersOf,
  untilAvailable,
} from "@perdure/process-kit";
import { openProbes, type Probes } from "@perdure/process-kit/http";
import {
  agreedPartitionCount,
  agreeOnArchiving,
  beginInstance,
  commitNothing,
  connectRedis,
  type RedisConnections,
  RedisLeases,
  RedisMembership,
  RedisPartitionStore,
  readRedisStatus,
} from "@perdure/redis";
import type { ArchivableStore, WorkerTraffic } from "@perdure/storage";
import { runSubscriptions, type Subscriptions } from "@perdure/subscriptions";
import { redisSpan, tracedOperations } from "@perdure/telemetry";
import { invocationTracing, recordSpans } from "@perdure/telemetry/tracing";
import { VERSION } from "@perdure/telemetry/version";
import { type ClusterWorker, createClusterWorker } from "../cluster/cluster-worker.js";
import { MEMBER_MS } from "../cluster/limits.js";
import { invokerOptionsOf } from "../config.js";
import { acceptLoss } from "../data-set/accept-loss.js";
import { DeferredMetadata } from "../data-set/deferred-metadata.js";
import type { DataSetGuard } from "../data-set/guard.js";
import { markedPartitions } from "../data-set/marked-partitions.js";
import { openDataSet } from "../data-set/open.js";
import { observeSubscriptions, observeWorker, redisMetrics, workerMetrics } from "../metrics.js";
import { countUnfinished } from "../usage.js";
import { ActivityMonitor } from "./activity-monitor.js";
import type { InvokerWorkerSettings } from "./config.js";
import { drainAnswers, startingDrainAnswers } from "./drain-answers.js";
import { lossAnswers } from "./loss-answers.js";

/**
 * Starts everything as parts of the lifecycle and resolves when the worker serves partitions; until Redis and a registry are reached the
 * process is not ready. Rejects with RT0004 (address), OPS0001 (settings), STO0003 (data of another version).
 */
export async function startWorker(settings: InvokerWorkerSettings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, logger } = ports;
  const tls = await openPeerCredentials(settings.tls, ports);
  const registries = await lifecycle.prepare(() => required("registry.addresses", settings.registry.addresses));
  const redisOptions = await lifecycle.prepare(() => redisOptionsOf(settings.redis, "perdure-worker"));
  const endpoints = await openEndpoints(settings, ports);

  const probes = await startProbes(settings, ports);
  const { redis, logBytes } = await startRedis(redisOptions, ports);
  probes.serve(startingDrainAnswers(logBytes));
  probes.checkCommits(commitProbe(redis, settings, () => [], clock));
  const dataSet = await dataSetOf(settings, redis, probes, ports);
  await fenceFormerLeaders(settings.environmentName, dataSet.incarnation, redis, dataSet.partitionCount, ports);
  const client = await lifecycle.start("registry", () =>
    openRegistryClient({ addresses: registries, tls }, true, { clock, logger }),
  );
  await lifecycle.awaitPart("registry's state", () => client.untilReady(lifecycle.stopping));

  // Bound before the worker is on the list of workers, which contains its address.
  const listener = await lifecycle.start("gRPC", () => openGrpcListener(settings.grpc, tls));
  const foundation: WorkerFoundation = {
    settings,
    id: `${settings.nodeName}-${randomUUID()}`,
    address: settings.advertisedAddress ?? `localhost:${listener.port}`,
    tls,
    redis,
    dataSet,
    registry: client.registry,
    endpoints,
    tracing: invocationTracing(ports),
    observers: workerMetrics(metrics),
  };
  const { worker, store } = await leadPartitions(foundation, ports);
  const sources = { worker, attempts: foundation.observers.attempts, registry: client.registry };
  const activityMonitor = new ActivityMonitor(sources, clock);
  probes.serve(drainAnswers({ worker, activityMonitor, logBytes, clock, logger }));
  probes.checkCommits(commitProbe(redis, settings, () => worker.leading(), clock));
  const subscriptions = await startSubscriptions(foundation, worker, activityMonitor, ports);
  const live = liveOf(foundation, worker, store, subscriptions, clock);
  listener.serve("perdure.control.v1.Partitions", partitionsDefinition, partitionsHandlers({ ...worker.served, live }));
  return {
    grpc: foundation.address,
    probes: `http://localhost:${probes.port}/readyz`,
    partitions: String(dataSet.partitionCount),
    identity: endpoints.identity?.publicKey,
  };
}

/** Settings and connections that the worker is built on. */
interface WorkerFoundation {
  readonly settings: InvokerWorkerSettings;
  /** Unique id of this process. */
  readonly id: string;
  /** Address at which other processes reach the worker. */
  readonly address: string;
  readonly tls: Awaited<ReturnType<typeof openPeerCredentials>>;
  readonly redis: RedisConnections;
  readonly dataSet: WorkerPartitioning;
  readonly registry: ReturnType<typeof openRegistryClient>["registry"];
  readonly endpoints: Awaited<ReturnType<typeof openEndpoints>>;
  /** Undefined while tracing is off. */
  readonly tracing: ReturnType<typeof invocationTracing>;
  readonly observers: ReturnType<typeof workerMetrics>;
}

/** Opens the probes with the worker's own paths. They respond before the parts that they report on exist. */
async function startProbes(
  settings: InvokerWorkerSettings,
  { lifecycle, metrics, clock, logger }: ProcessPorts,
): Promise<Probes> {
  const probePorts = { health: () => lifecycle.health, metrics: () => metrics.text(), clock, logger };
  const probes = await lifecycle.start("probes", () => openProbes(settings.probes, probePorts));
  probes.serve({ ...startingDrainAnswers(() => undefined), ...lossAnswers({ accept: undefined, logger }) });
  return probes;
}

/** While the worker leads nothing, the first partition stands for all: an unreachable Redis loses the leases as well. */
function commitProbe(
  redis: RedisConnections,
  { environmentName }: InvokerWorkerSettings,
  leading: () => readonly number[],
  clock: Clock,
): CommitProbe {
  return new CommitProbe(() => {
    const leaderPartitions = leading();
    return commitNothing(redis, environmentName, leaderPartitions.length > 0 ? leaderPartitions : [0]);
  }, clock);
}

/** Connects to Redis, however long that takes, and reports its metrics from then on. */
async function startRedis(options: ReturnType<typeof redisOptionsOf>, ports: ProcessPorts) {
  const { lifecycle, metrics, clock, logger } = ports;
  const redis = await lifecycle.start("Redis", () =>
    untilAvailable("Redis", () => connectRedis(options, { clock, logger }), ports, lifecycle.stopping),
  );
  let logBytes: number | undefined;
  const pollRedis = redisMetrics(metrics, async () => {
    const health = await readRedisStatus(redis, POLL_METRICS_MS);
    logBytes = health.logBytes;
    return health;
  });
  await lifecycle.start("metrics of Redis", () => pollMetrics("Redis", pollRedis, ports));
  return { redis, logBytes: () => logBytes };
}

interface StartedWorker {
  readonly worker: ClusterWorker;
  readonly store: RedisPartitionStore;
}

/** Starts the worker, which leads its share of the partitions from then on. */
async function leadPartitions(foundation: WorkerFoundation, ports: ProcessPorts): Promise<StartedWorker> {
  const { settings, id, redis, dataSet, observers, endpoints } = foundation;
  const { lifecycle, metrics, clock } = ports;
  const environment = settings.environmentName;
  const observer = settings.tracingCommits ? tracedOperations(ports, "client", redisSpan) : undefined;
  const store = new RedisPartitionStore(redis, { environment, holder: id, dataSet: dataSet.guard, observer });
  const archiving = await openArchiving(settings, store, ports);
  const agree = () => agreeOnArchiving(redis, environment, archiving !== undefined);
  await lifecycle.awaitPart("archiving", () => untilAvailable("Redis", agree, ports, lifecycle.stopping));
  const mayLead = async (): Promise<void> => {
    if (archiving === undefined) await agree(); // A worker that archives has recorded that permanently.
  };
  const open = () => createWorker(foundation, { store, archiving, mayLead }, ports);
  const worker = await lifecycle.start("worker", async () => {
    const opened = await untilAvailable("Redis", open, ports, lifecycle.stopping);
    return { ...opened, drain: () => opened.drain(), [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
  });
  dataSet.guard?.onChange((isMismatched) => worker.setBarred(isMismatched));
  worker.setBarred(dataSet.guard?.isMismatched === true);
  const observed = {
    counters: worker.counters,
    slots: worker.slots,
    partitionCounts: () => worker.partitionCounts(),
    partitionCount: dataSet.partitionCount,
    population: () => worker.leaderPartitions.population(),
    connections: endpoints.connections,
  };
  observeWorker(metrics, observed, observers, clock);
  return { worker, store };
}

function createWorker(
  foundation: WorkerFoundation,
  stored: Pick<Parameters<typeof createClusterWorker>[0], "store" | "archiving" | "mayLead">,
  { clock, random, logger }: ProcessPorts,
) {
  const { settings, id, address, redis, dataSet, registry, endpoints, tracing, tls, observers } = foundation;
  const { transports, identity } = endpoints;
  return createClusterWorker(
    {
      ...stored,
      ...leadershipPorts(redis, settings.environmentName, id, dataSet.guard, clock),
      registry,
      transports,
      tracing,
      identity,
      clock,
      random,
      logger,
      metrics: observers,
      tls,
    },
    {
      id,
      address,
      partitionCount: dataSet.partitionCount,
      cleanupIntervalMs: settings.worker.cleanupInterval,
      undoBytesMax: settings.undo.bytesMax,
      throttleKeysMax: settings.worker.throttleKeysLimit,
      invoker: invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues),
    },
  );
}

async function startSubscriptions(
  { settings, registry, endpoints, tracing }: WorkerFoundation,
  worker: ClusterWorker,
  activityMonitor: ActivityMonitor,
  { lifecycle, metrics, clock, logger: root }: ProcessPorts,
): Promise<Subscriptions> {
  const logger = root.child({ component: "subscriptions" });
  const { guard } = endpoints;
  const source = createKafkaSource({ clock, logger, guard, awsExternalId: settings.awsAssumeRoleExternalId });
  const traceRecord = tracing === undefined ? undefined : recordSpans(tracing);
  const scopesEnabled = await lifecycle.prepare(() => recordScopesOf(settings));
  const topics = { scopesEnabled, registry, source, deliveries: worker.deliveries, clock, logger, traceRecord };
  const subscriptions = await lifecycle.start("subscriptions", () => runSubscriptions(topics));
  await lifecycle.start("standing", () => activityMonitor.watch());
  observeSubscriptions(metrics, subscriptions);
  return subscriptions;
}

/** Returns the reads with which the worker reports about itself to other processes. */
function liveOf(
  { id }: WorkerFoundation,
  worker: ClusterWorker,
  store: RedisPartitionStore,
  subscriptions: Subscriptions,
  clock: Clock,
) {
  return {
    leaderPartitions: () => worker.leading(),
    worker: () => ({
      id,
      version: VERSION,
      startedAtMs: Math.round(performance.timeOrigin),
      isDraining: worker.isDraining(),
      leading: worker.leadershipStatuses(),
    }),
    traffic: () => trafficOf(id, worker, clock.nowMs()),
    status: worker.leaderPartitions.status.bind(worker.leaderPartitions),
    statuses: worker.leaderPartitions.statuses.bind(worker.leaderPartitions),
    flowRows: worker.leaderPartitions.flowRows.bind(worker.leaderPartitions),
    flowLimits: worker.leaderPartitions.flowLimits.bind(worker.leaderPartitions),
    flowWait: worker.leaderPartitions.flowWait.bind(worker.leaderPartitions),
    subscriptionStatuses: () => subscriptions.statuses(),
    countUsage: (deployment: Parameters<typeof countUnfinished>[2], services: readonly string[]) =>
      countUnfinished(store, worker.leading(), deployment, services),
  };
}

/** What a partition counted under its leader before is not here, so the counts are complete since the youngest lease. */
function trafficOf(node: string, worker: ClusterWorker, nowMs: number): WorkerTraffic {
  const { traffic } = worker.counters;
  const sinceMs = Math.max(0, ...worker.leadershipStatuses().map((leadership) => leadership.sinceMs));
  return { node, sinceMs: traffic.isComplete ? sinceMs : undefined, counts: traffic.counts(nowMs) };
}

/** The result of the agreement, and the guard that watches it. */
interface WorkerPartitioning {
  readonly partitionCount: number;
  readonly incarnation: string | undefined;
  /** Undefined without a database to compare Redis with. */
  readonly guard: DataSetGuard | undefined;
}

/** Resolves when Redis holds the data of the environment, however long that takes. */
async function dataSetOf(
  { worker, metadata: { postgresUrl }, environmentName: environment }: InvokerWorkerSettings,
  redis: RedisConnections,
  probes: Pick<Probes, "serve">,
  ports: ProcessPorts,
): Promise<WorkerPartitioning> {
  const { lifecycle, clock, random, logger } = ports;
  const { incarnation, acceptDataLoss, numPartitions } = worker;
  if (postgresUrl === undefined) {
    logger.warn({}, "'metadata.postgres-url' is not set: a Redis that lost its data cannot be distinguished from a new one");
    const agree = () => agreedPartitionCount(redis, environment, numPartitions);
    const partitionCount = await lifecycle.awaitPart("number of partitions", () =>
      untilAvailable("Redis", agree, ports, lifecycle.stopping),
    );
    return { partitionCount, incarnation, guard: undefined };
  }
  const metadata = await lifecycle.start(
    "record of the data set",
    () => new DeferredMetadata({ url: postgresUrl.reveal(), environment }, logger),
  );
  const agreement = { metadata, partitions: markedPartitions(redis, environment), clock, random, logger };
  probes.serve(lossAnswers({ accept: (lost) => acceptLoss(agreement, lost), logger }));
  return openDataSet(redis, metadata, { environment, partitionCount: numPartitions, incarnation, acceptDataLoss }, ports);
}

/** Before any leadership: leaders from before a restore must be fenced. */
async function fenceFormerLeaders(
  environmentName: string,
  incarnation: string | undefined,
  redis: RedisConnections,
  partitionCount: number,
  ports: ProcessPorts,
): Promise<void> {
  if (incarnation === undefined) return;
  const begin = () => beginInstance(redis, environmentName, partitionCount, incarnation);
  const begun = await ports.lifecycle.awaitPart("incarnation", () =>
    untilAvailable("Redis", begin, ports, ports.lifecycle.stopping),
  );
  if (begun > 0) ports.logger.info({ partitions: begun, incarnation }, "a restored environment begins a new incarnation");
}

function leadershipPorts(
  redis: RedisConnections,
  environment: string,
  id: string,
  dataSet: DataSetGuard | undefined,
  clock: Clock,
) {
  return {
    leases: new RedisLeases(redis, { environment, worker: id, dataSet }, clock),
    membership: new RedisMembership(redis, { environment, memberMs: MEMBER_MS }),
  };
}

/** Undefined without a database. An unreachable one does not prevent a start: live work does not need it. */
async function openArchiving(
  { archive: options, metadata, environmentName: environment }: InvokerWorkerSettings,
  store: ArchivableStore,
  { lifecycle, metrics, clock, logger: processLogger }: ProcessPorts,
): Promise<Archiving | undefined> {
  const logger = processLogger.child({ component: "archive" });
  if (metadata.postgresUrl === undefined) {
    logger.info({}, "'metadata.postgres-url' is not set: completed invocations stay in Redis until their retention is over");
    return undefined;
  }
  const url = metadata.postgresUrl.reveal();
  const archive = await lifecycle.start("archive", () => deferredPostgresArchive({ url, environment }, { clock, logger }));
  const archiving = createArchiving({ store, archive, clock, logger }, { ageMs: options.age, intervalMs: options.interval });
  metrics.observed(
    { type: "counter", name: "perdure_worker_archived_total", help: "Completed invocations moved to the archive" },
    archiving.archivedCount,
  );
  return archiving;
}
