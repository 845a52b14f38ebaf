/** Every operation of the contract is served, and its successful response has the strict shape that the contract gives it. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { AdminOperation } from "@perdure/admin-contract";
import * as contract from "@perdure/admin-contract";
import {
  type BatchId,
  EMPTY_BYTES,
  type EventSubscriptionId,
  type InvocationId,
  silentLogger,
  systemClock,
  systemRandom,
} from "@perdure/base";
import { createMemoryMetadataStore, type Verification } from "@perdure/metadata";
import { createScheduleBook } from "@perdure/registry";
import { aManifest, aWireService, createTestRegistry, startEndpoint, type TestEndpoint } from "@perdure/registry/testing";
import { createScheduleEngine, type ScheduleEngine, type Schedules } from "@perdure/schedules";
import { aRegistry, FakePartitions } from "@perdure/schedules/testing";
import { encodeInput, MessageType } from "@perdure/service-protocol";
import { EMPTY_PROGRESS, type Invocation } from "@perdure/state-machine";
import type { BatchService } from "../src/batches/batches.js";
import type { BatchRecord } from "../src/batches/record.js";
import type { InsightSource } from "../src/insight/source.js";
import { operationsOf } from "../src/operations/operations.js";
import {
  anInvocation,
  createScriptedPartitions,
  createTestAdminApi,
  startServer,
  type TestResponse,
  type TestServer,
} from "../src/testing/index.js";
import { rowsOf } from "./batches-world.js";

const ID = "inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz" as InvocationId;
const DELIVERY_ID = "inv_1aDVq0MADFm03hZvQNLj3zT03pvcAorDLF" as InvocationId;
const BATCH_ID = "bat_15ChR1PDwZt22Rn2lfZrRo5" as BatchId;
const QUEUE_ID = "vq_1a1mlWikgvPI7bKU0xvNnoATqq1LSWnL4B";

const VERIFICATION: Verification = {
  checkedAtMs: 0,
  durationMs: 1,
  found: 1,
  checked: 1,
  compatible: 0,
  incompatible: 1,
  failed: 0,
  skipped: 0,
  isComplete: true,
  findings: [
    {
      kind: "journalMismatch",
      service: "Greeter",
      handler: "greet",
      invocations: 1,
      invocationId: ID,
      status: "suspended",
      deploymentId: "dp_15ChR1PDwZt22Rn2lfZrRo5",
      code: "RT0016",
      commandIndex: 1,
      expected: { type: "Run", name: "a" },
      actual: { type: "Call", name: undefined },
      message: "differs",
      stacktrace: undefined,
    } as Verification["findings"][number],
  ],
  findingsLeftOut: 0,
};

const RECORD: BatchRecord = {
  id: BATCH_ID,
  operation: "cancel",
  filter: null,
  deployment: null,
  startedBy: null,
  reason: null,
  createdAtMs: 0,
  matched: 1,
  moreMatched: false,
  pages: 1,
  state: "finished",
  isBegun: true,
  cancelling: false,
  page: 1,
  pageBegunAtMs: 0,
  succeeded: 1,
  failed: 0,
  finishedAtMs: 1,
  undo: null,
};
const BATCHES: BatchService = {
  begin: async () => RECORD,
  get: async () => RECORD,
  list: async () => [RECORD],
  results: async () => ({
    results: [{ id: ID, status: 404, problem: "gone", newId: undefined, note: undefined, isFinal: false }],
    next: 1,
  }),
  cancel: async () => RECORD,
  [Symbol.asyncDispose]: async () => undefined,
};

const BEGUN: Invocation = { ...anInvocation(ID, "suspended", undefined), journal: { ...EMPTY_PROGRESS, length: 1, commands: 1 } };
const INSIGHT: InsightSource = {
  partitionCount: 1,
  store: {
    reads: { invocation: () => BEGUN, lock: () => undefined, inbox: () => undefined },
    readJournal: async () => [{ type: MessageType.Input, body: encodeInput([], EMPTY_BYTES), appendedAtMs: 0 }],
    events: async () => [],
    stateOf: async () => new Map(),
    flow: async () => ({ pauses: [] }),
  },
  invoker: { status: () => undefined, flowWait: () => undefined },
};

let endpoint: TestEndpoint;
let engine: ScheduleEngine;
let server: TestServer;

beforeAll(async () => {
  endpoint = await startEndpoint("h2c", {
    body: aManifest([aWireService("Greeter", ["greet"]), aWireService("Cart", ["add"], { ty: "VIRTUAL_OBJECT" })]),
  });
  const ports = {
    metadata: createMemoryMetadataStore(),
    registry: aRegistry({ Greeter: ["service", "greet"] }),
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  };
  const book = await createScheduleBook(ports, { scopesEnabled: false });
  engine = createScheduleEngine({ ...ports, book, partitions: new FakePartitions() });
  const schedules: Schedules = {
    get: (id) => book.get(id),
    list: () => book.list(),
    create: (spec, isPaused) => book.create(spec, isPaused),
    replace: (id, spec, expected) => book.replace(id, spec, expected),
    remove: (id, expected, undo) => book.remove(id, expected, undo),
    restore: (operation) => book.restore(operation),
    pause: (id) => book.pause(id),
    resume: (id) => book.resume(id),
    runNow: (id, key) => engine.runNow(id, key),
    backfill: (id, batch) => engine.backfill(id, batch),
  };
  const partitions = createScriptedPartitions();
  for (const kind of ["cancel", "kill", "purge", "purgeJournal", "resume", "restartAsNew", "pauseQueue", "resumeQueue"]) {
    partitions.answers.set(kind, { kind: "done" });
  }
  partitions.answers.set("pause", { kind: "accepted" });
  partitions.answers.set("undo", { kind: "undo", result: "undone", notified: [], isClientNotified: true });
  partitions.answers.set("mutateState", { kind: "done" });
  partitions.answers.set("setStateTtl", { kind: "done" });
  const delivery = anInvocation(DELIVERY_ID, "completed", undefined);
  const event = {
    subscriptionId: "evs_15ChR1PDwZt22Rn2lfZrRo5" as EventSubscriptionId,
    eventId: "e",
    type: "invocation.failed",
  } as const;
  const target = { ...delivery.facts.target, key: `${event.subscriptionId}.inv` };
  partitions.invocations.set(DELIVERY_ID, { ...delivery, facts: { ...delivery.facts, target, event } });
  const registry = Object.assign(await createTestRegistry(), { checkDeployment: async () => VERIFICATION });
  const copies = { kept: () => undefined };
  const operations = operationsOf({ ...ports, registry, schedules, partitions, batches: BATCHES, copies }, 60_000);
  server = await startServer(
    createTestAdminApi({
      operations,
      registry,
      schedules,
      partitions,
      batches: BATCHES,
      insight: INSIGHT,
      sql: async () => rowsOf([{ id: ID }]),
      crashAttempt: () => ({ attempt: 1, journalLength: 2 }),
      usage: async () => ({ source: "s", actions: 1, storedBytes: 2 }),
      documents: createMemoryMetadataStore(),
      callEndpoint: async () => ({ kind: "response", status: 200, headers: {}, body: new Uint8Array() }),
    }),
  );
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await engine[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});

const checkedOperations = new Set<string>();
const titleOf = ({ method, path }: AdminOperation): string => `${method} ${path}`;

/** Sends a request that has to succeed, and checks the response against the contract. */
async function call(operation: AdminOperation, parameters: Record<string, string> = {}, body?: unknown): Promise<TestResponse> {
  const path = operation.path.replace(/\{\*?(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? name));
  const response = await server.send(operation.method, path, body, { accept: "application/json" });
  expect([titleOf(operation), response.status, response.status < 300 ? "" : response.text]).toEqual([
    titleOf(operation),
    response.status,
    "",
  ]);
  const shape = operation.results?.[response.status];
  if (shape !== undefined) expect(shape.safeParse(response.json())).toMatchObject({ success: true });
  checkedOperations.add(titleOf(operation));
  return response;
}
const idOf = (response: TestResponse): string => response.json<{ id: string }>().id;

test("deployments and services", async () => {
  const deployment = idOf(await call(contract.registerDeployment, {}, { uri: endpoint.uri }));
  await call(contract.listDeployments);
  await call(contract.getDeployment, { deployment });
  await call(contract.checkDeployment, { deployment });
  await call(contract.updateDeployment, { deployment }, { uri: endpoint.uri, overwrite: true });
  await call(contract.putDeployment, { deployment }, { uri: endpoint.uri, overwrite: true });
  const service = "Greeter";
  await call(contract.listServices);
  await call(contract.getService, { service });
  await call(contract.modifyService, { service }, { public: true });
  await call(contract.getServiceDocument, { service });
  await call(contract.listHandlers, { service });
  await call(contract.getHandler, { service, handler: "greet" });
  await call(contract.modifyService, { service: "Cart" }, { state_ttl: "1h" });
  await call(contract.setStateTtl, { service: "Cart" }, { object_key: "k", ttl: null });
  await call(contract.replaceState, { service: "Removed" }, { object_key: "k", new_state: {} });
  for (const direction of ["decode", "encode"] as const) await call(contract.convertPayload(direction), { service }, {});
  await server.send("DELETE", `/deployments/${deployment}?force=true`).then(({ status }) => expect(status).toBe(202));
  checkedOperations.add(titleOf(contract.removeDeployment));
});

test("invocations and batches", async () => {
  const id = { invocation_id: ID };
  await call(contract.endInvocation, id);
  for (const verb of ["cancel", "kill", "pause", "purge", "purge-journal"] as const)
    await call(contract.applyToInvocation(verb), id);
  await call(contract.resumeInvocation, id);
  await call(contract.restartInvocation, id);
  await call(contract.forkInvocation, id, { at: 1 });
  await call(contract.registerDeployment, {}, { uri: endpoint.uri });
  await call(contract.forkInSandbox, id, { at: 0 });
  await call(contract.crashRunningAttempt, id);
  await call(contract.getExplanation, id);
  await call(contract.getTimeline, id);
  await call(contract.getBundle, id);
  const start = { operation: "cancel", ids: [ID] };
  expect((await call(contract.startBatch, {}, { ...start, dry_run: true })).status).toBe(200);
  expect((await call(contract.startBatch, {}, start)).status).toBe(202);
  await call(contract.listBatches);
  const batch = { batch_id: BATCH_ID };
  await call(contract.getBatch, batch);
  await call(contract.getBatchResults, batch);
  await call(contract.cancelBatch, batch);
  const killed = await call(contract.applyToInvocation("kill"), id);
  const operation = { operation_id: String(killed.headers[contract.OPERATION_HEADER]) };
  await call(contract.listOperations);
  await call(contract.getOperation, operation);
  await call(contract.undoOperation, operation);
  for (const verb of contract.INVOCATION_VERBS) await call(contract.applyToInvocations(verb), {}, { invocation_ids: [ID] });
});

test("topics and schedules", async () => {
  await call(contract.registerDeployment, {}, { uri: endpoint.uri, force: true });
  const cluster = { cluster_name: "k1" };
  const properties = { "bootstrap.servers": "localhost:9092", "sasl.password": "x" };
  await call(contract.createKafkaCluster, {}, { name: "k1", properties });
  await call(contract.listKafkaClusters);
  await call(contract.getKafkaCluster, cluster);
  await call(contract.updateKafkaCluster, cluster, { properties });
  const source = { source: "kafka://k1/topic", sink: "service://Greeter/greet" };
  const subscription = { subscription: idOf(await call(contract.createSubscription, {}, source)) };
  await call(contract.listSubscriptions);
  await call(contract.getSubscription, subscription);
  await call(contract.getSubscriptionStatus, subscription);
  for (const verb of ["pause", "resume"] as const) await call(contract.pauseOrResumeSubscription(verb), subscription);
  await call(contract.skipRecord, subscription, { partition: 0, offset: 1 });
  await call(contract.removeSubscription, subscription);
  await call(contract.removeKafkaCluster, cluster);

  const fields = { name: "yearly", cron: "0 12 1 1 *", target: { service: "Greeter", handler: "greet" }, payload: { a: 1 } };
  const schedule = { schedule: idOf(await call(contract.createSchedule, {}, fields)) };
  await call(contract.listSchedules);
  await call(contract.replaceSchedule, schedule, fields);
  for (const verb of ["pause", "resume"] as const) await call(contract.pauseOrResumeSchedule(verb), schedule);
  await call(contract.runSchedule, schedule);
  const range = { from: "2026-01-01T00:00:00Z", to: "2026-01-01T00:10:00Z", dry_run: true };
  await call(contract.backfillSchedule, schedule, range);
  await call(contract.getSchedule, schedule);
  await call(contract.getNextTimes, schedule);
  await call(contract.removeSchedule, schedule);
});

test("event subscriptions and deliveries", async () => {
  const fields = { types: ["invocation.failed"], to: { url: "https://hooks.example/" }, filter: { service: "Greeter" } };
  const subscription = { event_subscription: idOf(await call(contract.createEventSubscription, {}, fields)) };
  await call(contract.listEventSubscriptions);
  await call(contract.getEventSubscription, subscription);
  await call(contract.rotateEventSecret, subscription);
  await call(contract.revokeOldEventSecret, subscription);
  await call(contract.removeEventSubscription, subscription);
  await call(contract.replayEventDelivery, { invocation_id: DELIVERY_ID });
});

test("flow control and the server itself", async () => {
  const rule = { pattern: "acme/*", limits: { concurrency: 5, rate: { limit: 1, per: "1s" } }, weight: 2, priority: 1 };
  await call(contract.putRules, {}, [rule]);
  await call(contract.deleteRules, {}, [{ pattern: "acme/*" }]);
  for (const verb of ["pause", "resume"] as const) await call(contract.pauseOrResumeQueue(verb), { vqueue_id: QUEUE_ID });
  await call(contract.getHealth);
  await call(contract.getVersion);
  await call(contract.getLiveness);
  await call(contract.getReadiness);
  await call(contract.getClusterHealth);
  await call(contract.runQuery, {}, { query: "SELECT 1" });
  await call(contract.getUsage);
  const document = { document: "views" };
  await call(contract.getConsoleDocument, document);
  await call(contract.putConsoleDocument, document, { expected_version: 0, value: "[]" });
  await call(contract.getMetrics);
  await call(contract.getDocument);
});

test("no operation of the contract is left out here", () => {
  const operations = Object.values(contract).flatMap((value) =>
    typeof value === "object" && "method" in value && "path" in value ? [value as AdminOperation] : [],
  );
  expect(operations.map(titleOf).filter((title) => !checkedOperations.has(title))).toEqual([]);
});
