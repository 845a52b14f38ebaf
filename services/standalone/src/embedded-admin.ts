/** The admin API of the single process, with what it needs and nothing else uses: schedules, the SQL engine and batch operations. */
import {
  type AdminPorts,
  conditionRows,
  createCallEndpoint,
  type DataSetUsage,
  DeletedCopies,
  openAdminListener,
  openBatches,
  openSharedBatches,
  operationRows,
  operationsOf,
  sqlEndings,
  sqlOptionsOf,
} from "@perdure/admin-api";
import type { Partitions } from "@perdure/control";
import {
  createSqlProcesses,
  createStoreThread,
  liveRowsOf,
  type OperationsPort,
  type SchedulesPort,
  type SourceDescription,
  type SqlEngine,
} from "@perdure/introspection";
import { createSandbox } from "@perdure/invoker";
import { invokerOptionsOf } from "@perdure/invoker-worker";
import { CommitProbe, type ProcessPorts, recordScopesOf, requestHeadersOf } from "@perdure/process-kit";
import type { BoundListener } from "@perdure/process-kit/http";
import { openSchedules, type RegistryRole } from "@perdure/registry";
import type { Schedules } from "@perdure/schedules";
import { combinedChanges } from "@perdure/storage";
import { expositionText, tracedEdge } from "@perdure/telemetry";
import { docsUrl } from "@perdure/telemetry/error-page";
import { clusterOfOne } from "./cluster-of-one.js";
import type { Roles } from "./parts.js";
import { adminGuard, type GuardOptions } from "./runtime-guard.js";
import { rowsOfThreads } from "./threads/rows.js";
import { shownRegistry } from "./threads/shown-registry.js";

/** Bundled beside this module's bundle. */
const SQL_STORE_THREAD = new URL("./sql-store-thread.mjs", import.meta.url);
const SQL_PROCESS = new URL("./sql-process.mjs", import.meta.url);
/** The cache directory, which has the engine's library when the package contains it compressed. */
const SQL_ENVIRONMENT = ["HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"];

/** Starts the schedules, the SQL engine, the batches and the listener of the admin API, one after the other. */
export async function openAdmin(roles: Roles, ports: ProcessPorts): Promise<BoundListener> {
  const { settings, partitions, metadata, store, worker, shards, storage, listenerGuards, partitionCount } = roles;
  const registry = shards === undefined ? roles.registry : shownRegistry(roles.registry, (change) => shards.shown(change));
  const { lifecycle, clock, random, logger } = ports;
  const { isSuspended } = listenerGuards;
  const schedules = await startSchedules(roles, ports);
  const insight = { partitionCount, store, invoker: shards?.rows ?? worker };
  const batchParts = { registry, partitions, insight, metadata, clock, random, logger: logger.child({ component: "batches" }) };
  const batches = await lifecycle.start("batches", () => (isSuspended ? openSharedBatches(batchParts) : openBatches(batchParts)));
  const copyParts = { metadata, clock, logger: logger.child({ component: "operations" }) };
  const copies = await lifecycle.start("copies of deletions", () => new DeletedCopies(copyParts));
  const operations = operationsOf({ ...batchParts, batches, copies, schedules }, settings.undo.window);
  const sql = await startSql(roles, { schedules, operations: operationRows({ operations, batches, clock }) }, ports);
  const callEndpoint = createCallEndpoint({ transports: roles.transports, identity: roles.identity, clock });
  const invokerOptions = invokerOptionsOf(settings.worker, requestHeadersOf(settings), settings.experimentalEnableVqueues);
  const sandbox = createSandbox({ transports: roles.transports, identity: roles.identity, clock, random }, invokerOptions);
  const sandboxes = { sandbox, stateOf: store.stateOf.bind(store) };
  const guards = { ...listenerGuards, storage };
  // Behind a gateway the server runs a tenant's production.
  const mayCrash = guards.secret === undefined && !settings.admin.disableCrashAttempt;
  const crashAttempt = mayCrash ? cutAttemptOf(roles) : undefined;
  // A key that is never written: no partition has it, and deleting nothing is a commit like any other.
  const commits = new CommitProbe(() => roles.level.write(new Map([["\u00ffcommit probe", null]])), clock);
  const stored = { registry, partitions, schedules, sql, insight, batches, operations, documents: metadata };
  const parts = { ...stored, commits, callEndpoint, sandboxes, usage: roles.usage, crashAttempt, guards };
  return lifecycle.start("admin API", () => openAdminApi(roles, parts, ports));
}

function cutAttemptOf({ worker, shards, place }: Roles): NonNullable<AdminPorts["crashAttempt"]> {
  if (shards === undefined) return worker.cutAttempt;
  return (id) => (place.own.hasId(id) ? worker.cutAttempt(id) : shards.cutAttempt(id));
}

function startSchedules(
  { settings, metadata, registry, partitions, listenerGuards }: Roles,
  { lifecycle, clock, random, logger: root }: ProcessPorts,
): ReturnType<typeof openSchedules> {
  const logger = root.child({ component: "schedules" });
  const { isSuspended } = listenerGuards;
  const scopesEnabled = settings.experimentalEnableVqueues;
  const parts = { metadata, registry, partitions, scopesEnabled, isSuspended, clock, random, logger };
  return lifecycle.start("schedules", () => openSchedules(parts));
}

function startSql(
  { settings, worker, shards, registry, metadata, directory, partitionCount, ...roles }: Roles,
  { schedules, operations }: { readonly schedules: SchedulesPort; readonly operations: OperationsPort },
  { lifecycle, metrics, clock, random, logger: root }: ProcessPorts,
): Promise<SqlEngine> {
  const cluster = clusterOfOne(settings.nodeName, worker, partitionCount, clock.nowMs(), clock);
  const conditions = conditionRows(metadata);
  const completedChanges =
    shards === undefined ? roles.completedChanges : combinedChanges([roles.completedChanges, ...shards.completedChanges()]);
  const rowPorts = { invoker: worker, registry, flow: worker, schedules, operations, conditions, cluster, completedChanges };
  const rows = liveRowsOf({ ...rowPorts, partitionCount, clock });
  const live = shards === undefined ? rows : { ...rows, ...rowsOfThreads(shards.rows, settings.nodeName, clock) };
  const source: SourceDescription = { store: { kind: "served" }, partitionCount };
  const logger = root.child({ component: "sql" });
  const onEnd = sqlEndings(metrics);
  const storeService = createStoreThread({ entry: SQL_STORE_THREAD, store: directory, clock, logger });
  const entry = { entry: SQL_PROCESS, environment: SQL_ENVIRONMENT };
  const parts = { ...entry, source, storeService, completedChanges, live, onEnd, clock, random, logger };
  return lifecycle.start("SQL engine", () => createSqlProcesses(parts, sqlOptionsOf(settings.admin)));
}

interface AdminParts {
  readonly registry: RegistryRole;
  readonly partitions: Partitions;
  readonly schedules: Schedules;
  readonly sql: SqlEngine;
  readonly insight: AdminPorts["insight"];
  readonly batches: AdminPorts["batches"];
  readonly operations: AdminPorts["operations"];
  readonly documents: AdminPorts["documents"];
  readonly commits: CommitProbe;
  readonly callEndpoint: AdminPorts["callEndpoint"];
  readonly sandboxes: AdminPorts["sandboxes"];
  readonly usage: () => Promise<DataSetUsage>;
  readonly crashAttempt: AdminPorts["crashAttempt"];
  readonly guards: GuardOptions;
}

function openAdminApi(
  { settings, ingress, subscriptions, shards }: Roles,
  { sql, commits, guards, ...parts }: AdminParts,
  ports: ProcessPorts,
): Promise<BoundListener> {
  const { lifecycle, metrics, clock, random, logger: root } = ports;
  const logger = root.child({ component: "admin" });
  const { advertisedAddress, bindPort } = settings.ingress;
  const ingressPort = (): number => ingress.port ?? bindPort;
  return openAdminListener(
    settings.admin,
    {
      ...parts,
      subscriptionStatuses: () => subscriptions.statuses(),
      sql: sql.query,
      health: () => lifecycle.health,
      isCommitting: () => commits.isCommitting(),
      metrics: async () => (shards === undefined ? metrics.text() : expositionText(await shards.metrics())),
      measures: metrics,
      edge: tracedEdge(ports, "server"),
      clock,
      random,
      logger,
    },
    {
      ingressEndpoint: () => advertisedAddress ?? `http://localhost:${ingressPort()}/`,
      ingressPort: advertisedAddress === undefined ? ingressPort : undefined,
      docsUrl: docsUrl(settings.docsUrl),
      clusterName: settings.clusterName,
      scopesEnabled: settings.experimentalEnableVqueues,
      recordScopesEnabled: recordScopesOf(settings),
    },
    // A runtime serves only its gateway, which has a console of its own.
    { guard: adminGuard(guards), showsConsole: guards.secret === undefined },
  );
}
