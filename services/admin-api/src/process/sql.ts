/**
 * SQL in a cluster: statements read Redis and the archive in separate processes, and get in-memory state from workers and the registry. The
 * engine starts with the first statement, when the number of partitions is available: until a worker has reported it there is nothing to
 * read.
 */
import type { Clock, Logger, Random } from "@perdure/base";
import type { RemoteRegistry, RemoteRows } from "@perdure/grpc";
import {
  type ConditionsPort,
  createSqlProcesses,
  type LiveRows,
  NOT_RECORDED,
  type OperationsPort,
  registryRowsOf,
  type SqlEngine,
  type SqlEngineOptions,
  type SqlProcessPorts,
} from "@perdure/introspection";
import { scheduleRow } from "@perdure/schedules";

/** Bundled beside the process's own module. */
const SQL_PROCESS = new URL("./cluster-sql-process.mjs", import.meta.url);

/** Environment variables for connections to Redis and PostgreSQL: certificates, and libpq's own settings; and for the cache of the engine's library. */
const ENVIRONMENT = [
  "PATH",
  "HOME",
  "XDG_CACHE_HOME",
  "LOCALAPPDATA",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "PGSSLMODE",
  "PGSSLROOTCERT",
  "PGSSLCERT",
  "PGSSLKEY",
];

interface ClusterSqlPorts {
  readonly registry: RemoteRegistry;
  readonly rows: RemoteRows;
  readonly operations: OperationsPort;
  readonly conditions: ConditionsPort;
  /** 0 until a worker has reported the number. */
  readonly partitionCount: () => number;
  /** Addresses of Redis and the archive for the process of statements, see `where-text.ts`. */
  readonly where: string;
  readonly onEnd: NonNullable<SqlProcessPorts["onEnd"]>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export function openClusterSql(ports: ClusterSqlPorts, options: Partial<SqlEngineOptions>): SqlEngine {
  const { partitionCount, where, onEnd, clock, random, logger } = ports;
  const live = liveRows(ports);
  let engine: SqlEngine | undefined;
  return {
    async query(text, format, signal) {
      if (engine === undefined) {
        const count = partitionCount();
        if (count === 0)
          return {
            kind: "refused",
            reason: "unavailable",
            message: "no worker has been reached yet",
            retryAfterSeconds: undefined,
          };
        const source = { store: { kind: "redis", options: where }, partitionCount: count } as const;
        const processPorts = {
          entry: SQL_PROCESS,
          source,
          live,
          environment: ENVIRONMENT,
          onEnd,
          clock,
          random,
          logger,
        };
        engine = createSqlProcesses(processPorts, options);
      }
      return await engine.query(text, format, signal);
    },
    async [Symbol.asyncDispose]() {
      await engine?.[Symbol.asyncDispose]();
    },
  };
}

function liveRows({ registry, rows, operations, conditions, clock }: ClusterSqlPorts): LiveRows {
  return {
    held: (ids) => rows.statuses(ids),
    ...registryRowsOf(registry),
    async *schedules() {
      for (const schedule of await registry.schedules.list()) yield scheduleRow(schedule);
    },
    operations: () => operations.rows(),
    conditions: () => conditions.rows(),
    nodes: () => rows.nodes(),
    partitions: () => rows.partitions(),
    traffic: () => rows.traffic(),
    async *queues(partitions) {
      for await (const queue of rows.queues(partitions)) yield { queue, nowMs: clock.nowMs() };
    },
    queueEntries: (partitions) => rows.queueEntries(partitions),
    limits: (partitions) => rows.limits(partitions),
    buckets: (partitions) => rows.buckets(partitions),
    completedChanges: () => NOT_RECORDED,
  };
}
