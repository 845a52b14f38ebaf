/** A whole management API for a test, with every dependency replaceable. */
import { EMPTY_BYTES, type Logger, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { SandboxResult } from "@perdure/invoker";
import { type Registry, RegistryRefusal } from "@perdure/metadata";
import type { Schedules } from "@perdure/schedules";
import { routesOf } from "../all-routes.js";
import type { BatchService } from "../batches/batches.js";
import { withConsole } from "../console/serve.js";
import { RouteError } from "../http/errors.js";
import { routerOf } from "../http/route.js";
import { type RequestListener, serve } from "../http/server.js";
import type { InsightSource } from "../insight/source.js";
import type { AdminOptions, AdminPorts, Sql } from "../ports.js";
import { checkedRoutes } from "./checked-routes.js";
import { createScriptedPartitions, type ScriptedPartitions } from "./scripted-partitions.js";

export interface TestAdminSetup {
  registry: Registry & RegistryView;
  partitions?: ScriptedPartitions;
  subscriptionStatuses?: AdminPorts["subscriptionStatuses"];
  /** Schedules of the API; without them none exist and none can be created. */
  schedules?: Schedules;
  sql?: Sql;
  /** Source of invocations; without it no invocation is stored. */
  insight?: InsightSource;
  /** Batches of the API; without them none exists and none can begin. */
  batches?: BatchService;
  /** Nothing can be undone by default. */
  operations?: AdminPorts["operations"];
  /** None by default. */
  documents?: AdminPorts["documents"];
  /** Call of an endpoint; by default no endpoint answers. */
  callEndpoint?: AdminPorts["callEndpoint"];
  metrics?: () => string | Promise<string>;
  /** Alive and ready by default. */
  health?: AdminPorts["health"];
  isCommitting?: AdminPorts["isCommitting"];
  /** Interruption of an attempt. By default no attempt runs; null: attempts cannot be cut off. */
  crashAttempt?: AdminPorts["crashAttempt"] | null;
  /** Not counted by default. */
  usage?: AdminPorts["usage"];
  /** None by default. */
  console?: AdminPorts["console"];
  options?: Partial<AdminOptions>;
  logger?: Logger;
  /** False by default: the recordings come from a server without scopes. */
  scopesEnabled?: boolean;
  recordScopesEnabled?: boolean;
}

const NOTHING_STORED: InsightSource = {
  partitionCount: 1,
  store: {
    reads: { invocation: () => undefined, lock: () => undefined, inbox: () => undefined },
    readJournal: async () => [],
    events: async () => [],
    stateOf: async () => new Map(),
    flow: async () => ({ pauses: [] }),
  },
  invoker: { status: () => undefined, flowWait: () => undefined },
};

const NO_RUN: SandboxResult = {
  outcome: { kind: "success", value: EMPTY_BYTES },
  entries: [],
  unsent: [],
  requestCount: 0,
};

const NO_BATCHES: BatchService = {
  begin: async () => undefined,
  get: async () => undefined,
  list: async () => [],
  results: async () => undefined,
  cancel: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

const noMore = async (): Promise<never> => {
  throw new RegistryRefusal(409, undefined, "there are already 0 schedules");
};
const NO_SCHEDULES: Schedules = {
  get: () => undefined,
  list: () => [],
  create: noMore,
  replace: noMore,
  remove: noMore,
  restore: noMore,
  pause: noMore,
  resume: noMore,
  runNow: noMore,
  backfill: noMore,
};

/**
 * Creates the API under test. Without an engine, queries are refused as unavailable. An answer that does not match the OpenAPI document
 * becomes a 599.
 */
export function createTestAdminApi(setup: TestAdminSetup): RequestListener {
  const logger = setup.logger ?? silentLogger;
  const ports: AdminPorts = {
    registry: setup.registry,
    partitions: setup.partitions ?? createScriptedPartitions(),
    schedules: setup.schedules ?? NO_SCHEDULES,
    subscriptionStatuses: setup.subscriptionStatuses ?? (() => []),
    sql:
      setup.sql ??
      (async () => ({ kind: "refused", reason: "unavailable", message: "no engine here", retryAfterSeconds: undefined })),
    insight: setup.insight ?? NOTHING_STORED,
    batches: setup.batches ?? NO_BATCHES,
    operations: setup.operations,
    documents: setup.documents,
    sandboxes: { sandbox: { run: async () => NO_RUN }, stateOf: async () => new Map() },
    callEndpoint: setup.callEndpoint ?? (async () => ({ kind: "failed", message: "no server is there" })),
    metrics: setup.metrics ?? (() => ""),
    health: setup.health ?? (() => ({ live: true, ready: true, waitingFor: [] })),
    isCommitting: setup.isCommitting,
    crashAttempt: setup.crashAttempt === null ? undefined : (setup.crashAttempt ?? (() => undefined)),
    usage: setup.usage,
    console: setup.console,
    clock: systemClock,
    random: systemRandom,
    logger,
  };
  const options = {
    ingressEndpoint: () => "http://localhost:21600/",
    docsUrl: "https://docs.example",
    clusterName: "localcluster",
    scopesEnabled: setup.scopesEnabled ?? false,
    recordScopesEnabled: setup.recordScopesEnabled ?? false,
    ...setup.options,
  };
  const checked = checkedRoutes(routesOf(ports, options), (problem) => {
    throw new RouteError(599, `not as the document promises: ${problem}`);
  });
  return withConsole(ports, options, serve(routerOf(checked), logger));
}
