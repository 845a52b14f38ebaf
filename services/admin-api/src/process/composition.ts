/**
 * The management API as a process of a cluster: it uses the registry and the workers over gRPC, partitions in Redis, and PostgreSQL for
 * batches and archived invocations. While one of these does not answer, requests that need it are refused; the rest works.
 */
import {
  openEndpoints,
  openPeerCredentials,
  openRegistryClient,
  openWorkers,
  redisOptionsOf,
  required,
} from "@perdure/cluster-kit";
import { createSandbox, invokerDefaults } from "@perdure/invoker";
import {
  deferredPostgresArchive,
  followChanges,
  type LeaderTerm,
  openPostgresMetadataStore,
  PostgresLeadership,
} from "@perdure/postgres";
import { type ProcessPorts, type ReadyFacts, recordScopesOf, untilAvailable } from "@perdure/process-kit";
import { checkAddress, type Elsewhere, openProbes } from "@perdure/process-kit/http";
import { connectRedis, RedisPartitionStore } from "@perdure/redis";
import { archived } from "@perdure/storage";
import { grpcSpan, postgresSpan, tracedEdge, tracedOperations } from "@perdure/telemetry";
import { docsUrl } from "@perdure/telemetry/error-page";
import { openAdminListener } from "../admin-listener.js";
import { BATCHES_PREFIX, openSharedBatches } from "../batches/batches.js";
import { createCallEndpoint } from "../call-endpoint.js";
import { conditionRows } from "../condition-rows.js";
import { sqlOptionsOf } from "../config.js";
import { sqlEndings } from "../metrics.js";
import { DeletedCopies } from "../operations/deleted-copies.js";
import { operationRows } from "../operations/operation-rows.js";
import { operationsOf } from "../operations/operations.js";
import type { AdminApiSettings } from "./config.js";
import { clusterInsight } from "./insight.js";
import { openClusterSql } from "./sql.js";
import { clusterUsage } from "./usage.js";
import { whereText } from "./where-text.js";

const STARTING: Elsewhere = {
  status: 503,
  text: "the management API is starting; see /readyz for the parts that are not ready\n",
};

/**
 * Starts everything as parts of the lifecycle and resolves when the API answers: when registry, database and Redis have been reached.
 * Rejects with RT0004 (address), META0010 (database), OPS0001 (settings, or a Redis that evicts data).
 */
export async function startAdmin(settings: AdminApiSettings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, random, logger } = ports;
  const { environmentName: environment, experimentalEnableVqueues: scopesEnabled } = settings;
  const recordScopesEnabled = await lifecycle.prepare(() => recordScopesOf(settings));
  const tls = await openPeerCredentials(settings.tls, ports);
  const { registries, seeds, url, redis } = await lifecycle.prepare(() => ({
    registries: required("registry.addresses", settings.registry.addresses),
    seeds: required("worker.addresses", settings.worker.addresses),
    url: required("metadata.postgres-url", settings.metadata.postgresUrl).reveal(),
    redis: redisOptionsOf(settings.redis, "perdure-admin"),
  }));
  await lifecycle.prepare(() => checkAddress(settings.admin, "admin.bind-port"));

  // Until the API is open, its port answers probes with the parts that are not ready.
  const probePorts = { health: () => lifecycle.health, metrics: () => metrics.text(), clock, logger };
  const early = await lifecycle.start("probes", () => openProbes(settings.admin, probePorts, STARTING));
  const peerPorts = { clock, logger };
  const registryPorts = { ...peerPorts, observer: tracedOperations(ports, "client", grpcSpan) };
  const observer = tracedOperations(ports, "client", postgresSpan);
  const workers = await lifecycle.start("workers", () => openWorkers({ addresses: seeds, tls }, peerPorts));
  const client = await lifecycle.start("registry", () => openRegistryClient({ addresses: registries, tls }, true, registryPorts));
  const available = <T>(what: string, open: () => Promise<T>): Promise<T> =>
    untilAvailable(what, open, ports, lifecycle.stopping);
  const metadata = await lifecycle.start("database", () =>
    available("the database", () => openPostgresMetadataStore({ url, environment, observer }, logger)),
  );
  const connections = await lifecycle.start("Redis", () => available("Redis", () => connectRedis(redis, peerPorts)));
  await lifecycle.awaitPart("registry's state", () => client.untilReady(lifecycle.stopping));

  const { registry } = client;
  const { partitions, rows, directory } = workers;
  const store = await lifecycle.start("partition store", () => new RedisPartitionStore(connections, { environment }));
  const archive = await lifecycle.start("archive", () => deferredPostgresArchive({ url, environment, observer }, peerPorts));
  const partitionCount = (): number => directory.partitionCount;
  const insight = clusterInsight(
    archived(store, archive, () => clock.nowMs()),
    rows,
    partitionCount,
  );
  const batchParts = { registry, partitions, insight, metadata, clock, random, logger: logger.child({ component: "batches" }) };
  const batches = await lifecycle.start("batches", () => openSharedBatches(batchParts));
  await lifecycle.start("batches of others", () =>
    followChanges({ store: metadata, clock, logger }, [{ prefix: BATCHES_PREFIX, reload: () => batches.refresh() }]),
  );
  // One process of all management APIs, the leader, runs the batches that any of them began.
  const lead = (leadership: LeaderTerm) => batches.lead(() => leadership.isSure);
  const ballot = { lead, clock, logger: batchParts.logger };
  await lifecycle.start("leader of batches", () => new PostgresLeadership({ url, environment, name: "batches" }, ballot));

  const where = whereText({ environment, redis, postgresUrl: url });
  const copyParts = { metadata, clock, logger: logger.child({ component: "operations" }) };
  const copies = await lifecycle.start("copies of deletions", () => new DeletedCopies(copyParts));
  const operations = operationsOf({ ...batchParts, batches, copies, schedules: registry.schedules }, settings.undo.window);
  const sqlRows = { rows, operations: operationRows({ operations, batches, clock }), conditions: conditionRows(metadata) };
  const sqlPorts = { registry, ...sqlRows, partitionCount, where, onEnd: sqlEndings(metrics), clock, random };
  const sql = await lifecycle.start("SQL engine", () =>
    openClusterSql({ ...sqlPorts, logger: logger.child({ component: "sql" }) }, sqlOptionsOf(settings.admin)),
  );

  const endpoints = await openEndpoints(settings, ports);
  await early[Symbol.asyncDispose]();
  const listener = await lifecycle.start("admin API", () =>
    openAdminListener(
      settings.admin,
      {
        registry,
        partitions,
        schedules: registry.schedules,
        subscriptionStatuses: () => rows.subscriptionStatuses(),
        sql: sql.query,
        insight,
        callEndpoint: createCallEndpoint({ ...endpoints, clock }),
        sandboxes: {
          sandbox: createSandbox({ ...endpoints, clock, random }, invokerDefaults),
          stateOf: store.stateOf.bind(store),
        },
        batches,
        operations,
        documents: metadata,
        usage: clusterUsage({ connections, environment, archive, clock }),
        health: () => lifecycle.health,
        metrics: () => metrics.text(),
        measures: metrics,
        edge: tracedEdge(ports, "server"),
        clock,
        random,
        logger: logger.child({ component: "admin" }),
      },
      {
        ingressEndpoint: () => settings.ingress.advertisedAddress,
        docsUrl: docsUrl(settings.docsUrl),
        clusterName: settings.clusterName,
        scopesEnabled,
        recordScopesEnabled,
      },
    ),
  );
  return { admin: settings.admin.advertisedAddress ?? `http://localhost:${listener.port}/` };
}
