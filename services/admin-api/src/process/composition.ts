/**
 * Why: the management API as a process of a cluster: its role on the registry and the workers over gRPC, on partitions in Redis, and on
 * PostgreSQL for batches. What one of these cannot answer for a while is refused; the rest goes on.
 */
import { mutualTlsOf, openEndpoints, openRegistryClient, openWorkers, redisOptionsOf, required } from "@perdure/cluster";
import { openPostgresMetadataStore } from "@perdure/driver-postgres";
import { connectRedis, RedisPartitionStore } from "@perdure/driver-redis";
import { type ProcessPorts, type ReadyFacts, untilAvailable } from "@perdure/role";
import { checkAddress } from "@perdure/role/http";
import { createAskEndpoint } from "../ask-endpoint.js";
import { openBatches } from "../batches/batches.js";
import { sqlOptionsOf } from "../config.js";
import { openAdminDoor } from "../door.js";
import type { Settings } from "./config.js";
import { clusterInsight } from "./insight.js";
import { redisText } from "./redis-text.js";
import { openClusterSql } from "./sql.js";

/**
 * Starts everything as parts of the lifecycle and resolves when the API answers: when registry, database and Redis have been reached.
 * Rejects with RT0004 (address), META0010 (database), OPS0001 (settings, or a Redis that would forget).
 */
export async function startAdmin(settings: Settings, ports: ProcessPorts): Promise<ReadyFacts> {
  const { lifecycle, metrics, clock, random, logger } = ports;
  const { environmentName: environment, experimentalEnableVqueues: scopesEnabled } = settings;
  const { tls, registries, seeds, url, redis } = await lifecycle.prepare(() => ({
    tls: mutualTlsOf(settings.tls),
    registries: required("registry.addresses", settings.registry.addresses),
    seeds: required("worker.addresses", settings.worker.addresses),
    url: required("metadata.postgres-url", settings.metadata.postgresUrl).reveal(),
    redis: redisOptionsOf(settings.redis, "perdure-admin"),
  }));
  await lifecycle.prepare(() => checkAddress(settings.admin));

  const peerPorts = { clock, logger };
  const workers = await lifecycle.start("workers", () => openWorkers({ addresses: seeds, tls }, peerPorts));
  const client = await lifecycle.start("registry", () => openRegistryClient({ addresses: registries, tls }, true, peerPorts));
  const available = <T>(what: string, open: () => Promise<T>): Promise<T> =>
    untilAvailable(what, open, ports, lifecycle.stopping);
  const metadata = await lifecycle.start("database", () =>
    available("the database", () => openPostgresMetadataStore({ url, environment }, logger)),
  );
  const connections = await lifecycle.start("Redis", () => available("Redis", () => connectRedis(redis, peerPorts)));
  await lifecycle.awaitPart("registry's state", () => client.untilKnown(lifecycle.stopping));

  const { registry } = client;
  const { partitions, rows, directory } = workers;
  const store = await lifecycle.start("partition store", () => new RedisPartitionStore(connections, { environment }));
  const partitionCount = (): number => directory.partitionCount;
  const insight = clusterInsight(store, rows, partitionCount);
  const sqlPorts = { registry, rows, partitionCount, redis: redisText({ environment, redis }), clock };
  const sql = await lifecycle.start("SQL engine", () =>
    openClusterSql({ ...sqlPorts, logger: logger.child({ component: "sql" }) }, sqlOptionsOf(settings.admin)),
  );
  const batchParts = { registry, partitions, insight, metadata, clock, random, logger: logger.child({ component: "batches" }) };
  const batches = await lifecycle.start("batches", () => available("the database", () => openBatches(batchParts)));

  const endpoints = await openEndpoints(settings, ports);
  const door = await lifecycle.start("admin API", () =>
    openAdminDoor(
      settings.admin,
      {
        registry,
        partitions,
        schedules: registry.schedules,
        subscriptionStatuses: () => rows.subscriptionStatuses(),
        sql: sql.query,
        insight,
        askEndpoint: createAskEndpoint({ ...endpoints, clock }),
        batches,
        health: () => lifecycle.health,
        metrics: () => metrics.text(),
        clock,
        random,
        logger: logger.child({ component: "admin" }),
      },
      { ingressEndpoint: settings.ingress.advertisedAddress, clusterName: settings.clusterName, scopesEnabled },
    ),
  );
  return { admin: settings.admin.advertisedAddress ?? `http://localhost:${door.port}/` };
}
