/** Rows of the flow-control tables from a scheduler's rows, and the partitions they are read from. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  hashString,
  newInvocationId,
  partitionOfKey,
  systemClock,
  systemRandom,
  utf8,
  type VqueueId,
  vqueueId,
} from "@perdure/base";
import type { FlowBlock, FlowQueueRow, FlowRows } from "@perdure/flow-control";
import type { Mutation } from "@perdure/state-machine";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { liveRowsOf } from "../src/live.js";
import type { SqlEngine } from "../src/options.js";
import type { LiveRows, RegisteredService, RuleRow } from "../src/ports.js";
import { anEngine, rowsOf } from "./querying.js";
import { type JsonRow, readTestData } from "./recorded.js";

const PARTITIONS = 8;
const NOW = Date.UTC(2026, 10, 21, 7, 32, 12, 181);
const NO_FLOW: FlowRows = { queues: [], entries: [], limits: [], buckets: [] };
const partitionKey = hashString("s1");
const home = (text: string): number => partitionOfKey(hashString(text), PARTITIONS);
const anId = (scope: string) =>
  newInvocationId({ service: "Greeter", key: undefined, handler: "greet", scope }, NOW, systemRandom);
const waiting = anId("s1");
const holder = newInvocationId({ service: "Counter", key: "k", handler: "add" }, NOW, systemRandom);

const store = new KvPartitionStore(new MemoryKeyValue());
/** Partitions whose flow was read. */
const requestedPartitions: number[] = [];
let engine: SqlEngine;
let live: LiveRows;

beforeAll(async () => {
  await put("s1", [
    { kind: "putState", service: "Wf@s1", key: "w", stateKey: "stage", value: utf8("1") },
    { kind: "putPromise", service: "Wf@s1", key: "w", name: "go", promise: { kind: "pending", listeners: [] } },
  ]);
  await put("w", [
    { kind: "putState", service: "Wf", key: "w", stateKey: "stage", value: utf8("2") },
    { kind: "putPromise", service: "Wf", key: "w", name: "go", promise: { kind: "pending", listeners: [] } },
  ]);
  await put("k", [
    { kind: "putState", service: "Counter", key: "k", stateKey: "n", value: utf8("3") },
    { kind: "putLock", service: "Counter", key: "k", lock: { holder, head: 0, tail: 0 } },
    { kind: "putLock", service: "Counter", key: "free", lock: { holder: undefined, head: 0, tail: 1 } },
  ]);
  live = liveRowsOf({
    invoker: { status: () => undefined, statuses: () => [] },
    registry: {
      deployments: () => [],
      services,
      effective: () => ({ public: true }),
      rules: () => RULES,
      eventSubscriptions: () => [],
    },
    flow: {
      flowRows(partition) {
        requestedPartitions.push(partition);
        return partition === home("s1") ? FLOW : NO_FLOW;
      },
      flowLimits(partition) {
        requestedPartitions.push(partition);
        return partition === home("s1") ? { limits: FLOW.limits, buckets: FLOW.buckets } : NO_FLOW;
      },
    },
    partitionCount: PARTITIONS,
    clock: { ...systemClock, nowMs: () => NOW + 2229 },
  });
  engine = anEngine({ partitionCount: PARTITIONS, isOneMoment: true, store, live });
});
beforeEach(() => {
  requestedPartitions.length = 0;
});
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

async function put(place: string, mutations: readonly Mutation[]): Promise<void> {
  const partition = home(place);
  await store.commit([{ partition, epoch: await store.claim(partition), mutations: [...mutations] }]);
}

const service = (name: string, kind: RegisteredService["revision"]["definition"]["kind"]): RegisteredService => ({
  deployment: { id: "dp_14pRvKO3JzniV4tg6GOFKOl" as never },
  revision: { revision: 1, definition: { name, kind, handlers: [] } },
});
const services = () => [service("Wf", "workflow"), service("Counter", "virtualObject"), service("Greeter", "service")];

const aRule = (rule: Partial<RuleRow>): RuleRow => ({
  pattern: "*",
  concurrency: undefined,
  rate: undefined,
  weight: 1,
  priority: undefined,
  description: undefined,
  disabled: false,
  version: 1,
  lastModifiedMs: NOW,
  ...rule,
});
const rate = { limit: 100, periodMs: 60_000, burst: 20 };
const RULES = [
  aRule({ pattern: "s1/*", concurrency: 1 }),
  aRule({ pattern: "s1", rate, weight: 2 }),
  aRule({ pattern: "s2", priority: 1 }),
];

const idOf = (limitKey: string): VqueueId => vqueueId({ service: "Greeter", scope: "s1", limitKey, lockKey: undefined });

function aQueue(limitKey: string, blockedOn: FlowBlock | undefined, more: Partial<FlowQueueRow> = {}): FlowQueueRow {
  return {
    partitionKey,
    id: idOf(limitKey),
    service: "Greeter",
    scope: "s1",
    limitKey,
    lockName: undefined,
    paused: false,
    createdAtMs: NOW,
    lastEnqueuedAtMs: NOW + 3,
    lastStartAtMs: NOW + 2,
    inboxCount: 1,
    runningCount: 1,
    suspendedCount: 0,
    pausedCount: 0,
    head: { entryId: waiting, blockedOn, sinceMs: NOW + 1000 },
    ...more,
  };
}

const FLOW: FlowRows = {
  queues: [
    aQueue("t1/u1", { kind: "concurrency", level: "Level1", rule: "s1/*", limit: 1 }),
    aQueue("t2", { kind: "rate", level: "Scope", rule: "s1", untilMs: NOW + 9000 }, { runningCount: 0 }),
    aQueue("t3", { kind: "lock", lockName: "Wf/w", holder }),
    aQueue("t4", undefined),
    aQueue("t5", undefined, { head: undefined }),
    aQueue("t6", undefined, { head: undefined, inboxCount: 0, runningCount: 0, suspendedCount: 2, pausedCount: 1 }),
    aQueue("t7", { kind: "paused" }, { paused: true }),
  ],
  entries: [
    {
      partitionKey,
      queueId: idOf("t1/u1"),
      entryId: waiting,
      entryKind: "invocation",
      stage: "inbox",
      status: "new",
      hasLock: false,
      runAtMs: undefined,
      sequence: 7,
      priority: 3,
      createdAtMs: NOW,
      transitionedAtMs: NOW + 1,
      firstStartAtMs: undefined,
      runCount: 0,
      deploymentId: undefined,
    },
    {
      partitionKey,
      queueId: idOf("t4"),
      entryId: anId("s1"),
      entryKind: "invocation",
      stage: "running",
      status: "started",
      hasLock: false,
      runAtMs: NOW + 5,
      sequence: 8,
      priority: 3,
      createdAtMs: NOW,
      transitionedAtMs: NOW + 6,
      firstStartAtMs: NOW + 6,
      runCount: 2,
      deploymentId: "dp_14pRvKO3JzniV4tg6GOFKOl",
    },
  ],
  limits: [
    {
      partitionKey,
      scope: "s1",
      l1: undefined,
      l2: undefined,
      level: "Scope",
      usage: 1,
      limit: undefined,
      rule: "s1",
      waiterCount: 0,
    },
    { partitionKey, scope: "s1", l1: "t1", l2: undefined, level: "Level1", usage: 3, limit: 1, rule: "s1/*", waiterCount: 1 },
  ],
  buckets: [{ partitionKey, scope: "s1", l1: undefined, l2: undefined, rule: "s1", rate, available: 3.7 }],
};

const query = (sql: string): Promise<readonly JsonRow[]> => rowsOf(engine, sql);

describe("sys_vqueue_meta", () => {
  test("shows a queue as the reference does", async () => {
    const [row] = await query(`select * from sys_vqueue_meta where id = '${idOf("t1/u1")}'`);
    expect(row).toEqual({
      partition_key: partitionKey,
      id: idOf("t1/u1"),
      is_active: true,
      queue_is_paused: false,
      service_name: "Greeter",
      scope: "s1",
      limit_key: "t1/u1",
      created_at: "2026-11-21T07:32:12.181Z",
      last_enqueued_at: "2026-11-21T07:32:12.184Z",
      last_start_at: "2026-11-21T07:32:12.183Z",
      last_attempt_at: "2026-11-21T07:32:12.183Z",
      num_inbox: 1,
      num_running: 1,
      num_suspended: 0,
      num_paused: 0,
      num_finished: 0,
    });
  });

  test("calls a queue inactive when everything in it sleeps", async () => {
    expect(await query("select limit_key, is_active from sys_vqueue_meta where not is_active")).toEqual([
      { limit_key: "t6", is_active: false },
    ]);
  });
});

describe("sys_scheduler", () => {
  test("shows what the head of each queue waits for, and for how long", async () => {
    const rows = await query(
      "select m.limit_key, s.status, s.blocked_on, s.scheduled_at, s.concurrency_rules_block_duration as c, " +
        "s.throttling_rules_block_duration as t, s.lock_block_duration as l " +
        "from sys_scheduler s join sys_vqueue_meta m on m.id = s.id order by 1",
    );
    const none = { c: "P0D", t: "P0D", l: "P0D" };
    expect(rows).toEqual([
      { limit_key: "t1/u1", status: "blocked", blocked_on: "limit-key-concurrency", ...none, c: "PT1.229S" },
      {
        limit_key: "t2",
        status: "blocked",
        blocked_on: "limit-key-rate",
        scheduled_at: "2026-11-21T07:32:21.181Z",
        ...none,
        t: "PT1.229S",
      },
      { limit_key: "t3", status: "blocked", blocked_on: "lock", ...none, l: "PT1.229S" },
      { limit_key: "t4", status: "ready", ...none },
      { limit_key: "t5", status: "scheduled", ...none },
      { limit_key: "t7", status: "paused", ...none },
    ]);
  });

  test("explains with the texts of the reference", async () => {
    const [row] = await query(`select blocked_on_json, head_entry_id from sys_scheduler where id = '${idOf("t1/u1")}'`);
    expect(row).toEqual({
      head_entry_id: waiting,
      blocked_on_json:
        '{"resource":"limit-key-concurrency","scope":"s1","limit_key":"t1/u1","blocked_level":"level1","blocked_rule":"s1/*"}',
    });
    const [lock] = await query(`select blocked_on_json from sys_scheduler where id = '${idOf("t3")}'`);
    expect(lock).toEqual({ blocked_on_json: '{"resource":"lock","scope":"s1","lock_name":"Wf/w"}' });
  });
});

describe("sys_vqueues", () => {
  test("shows the entries of a queue, as the official command line reads them", async () => {
    const sql = `SELECT entry_id, entry_kind, stage, status, has_lock, created_at, num_attempts, deployment FROM sys_vqueues WHERE id = '${idOf("t4")}' LIMIT 100`;
    expect(await query(sql)).toMatchObject([
      {
        entry_kind: "invocation",
        stage: "running",
        status: "started",
        num_attempts: 2,
        deployment: "dp_14pRvKO3JzniV4tg6GOFKOl",
      },
    ]);
    expect(await query("select run_at, first_runnable_at from sys_vqueues where stage = 'running'")).toEqual([
      { first_runnable_at: "2026-11-21T07:32:12.186Z" },
    ]);
    expect(await query("select next_at, vqueue_id from sys_vqueue_entry_status where stage = 'inbox'")).toEqual([
      { next_at: "2026-11-21T07:32:12.181Z", vqueue_id: idOf("t1/u1") },
    ]);
  });
});

describe("limits", () => {
  test("sys_user_limits counts running invocations at each level, and availability is never below zero", async () => {
    expect(
      await query("select level, scope, l1, usage, concurrency_limit, available, rule_pattern, num_waiters from sys_user_limits"),
    ).toEqual([
      { level: "Scope", scope: "s1", usage: 1, rule_pattern: "s1", num_waiters: 0 },
      {
        level: "Level1",
        scope: "s1",
        l1: "t1",
        usage: 3,
        concurrency_limit: 1,
        available: 0,
        rule_pattern: "s1/*",
        num_waiters: 1,
      },
    ]);
  });

  test("sys_rate_limits shows rates, weights and priorities, and the buckets in use", async () => {
    expect(await query("select * from sys_rate_limits order by pattern")).toEqual([
      { pattern: "s1", rate_limit: 100, rate_period: "PT60S", burst: 20, weight: 2, scope: "s1", available: 3 },
      { pattern: "s2", weight: 1, priority: 1 },
    ]);
  });
});

describe("what a statement names", () => {
  test.each([
    ["a queue", `select id from sys_vqueue_meta where id = '${idOf("t1/u1")}'`],
    ["a queue's entries", `select id from sys_vqueues where id = '${idOf("t1/u1")}'`],
    ["an entry", `select id from sys_vqueues where entry_id = '${waiting}'`],
    ["an entry's status", `select stage from sys_vqueue_entry_status where entry_id = '${waiting}'`],
    ["a scope", "select id from sys_vqueue_meta where scope = 's1'"],
    ["a scope's limits", "select usage from sys_user_limits where scope = 's1'"],
  ])("%s is requested in its partition alone", async (_what, sql) => {
    expect((await query(sql)).length).toBeGreaterThan(0);
    expect(requestedPartitions).toEqual([home("s1")]);
  });

  test.each(["vq_1nope", "nonsense"])("%j, which is not an id, is in none", async (id) => {
    expect(await query(`select id from sys_vqueue_meta where id = '${id}'`)).toEqual([]);
    expect(requestedPartitions).toEqual([]);
  });
});

test("invocations of a scope are read from its partition only", async () => {
  const scanned: number[] = [];
  const watched = anEngine({
    partitionCount: PARTITIONS,
    isOneMoment: true,
    store: Object.assign(Object.create(store) as typeof store, {
      invocationRows(partition: number, group: "unfinished" | "completed") {
        scanned.push(partition);
        return store.invocationRows(partition, group);
      },
    }),
    live,
  });
  expect(await rowsOf(watched, "select id from sys_invocation_status where scope = 's1'")).toEqual([]);
  expect(new Set(scanned)).toEqual(new Set([home("s1")]));
  await watched[Symbol.asyncDispose]();
});

describe("keys in scopes", () => {
  test("locks name the object and its holder; an unheld lock is not shown", async () => {
    expect(await query("select * from sys_locks")).toEqual([
      { partition_key: hashString("k"), lock_name: "Counter/k", acquired_by: holder },
    ]);
  });

  test.each(["state", "sys_promise"])("%s separates the scope from the service", async (table) => {
    const sql = `select partition_key, scope, service_name, service_key from ${table} where service_name = 'Wf' and service_key = 'w' order by scope`;
    expect(await query(sql)).toEqual([
      { partition_key: partitionKey, scope: "s1", service_name: "Wf", service_key: "w" },
      { partition_key: hashString("w"), service_name: "Wf", service_key: "w" },
    ]);
    expect(await query(`select service_key from ${table} where scope = 's1'`)).toEqual([{ service_key: "w" }]);
  });

  test("a key in a scope is read by key", async () => {
    const sql = "select value_utf8 from state where service_name = 'Wf' and service_key = 'w' and scope = 's1'";
    expect(await query(sql)).toEqual([{ value_utf8: "1" }]);
    const object = "select value_utf8 from state where service_name = 'Counter' and service_key = 'k'";
    expect(await query(object)).toEqual([{ value_utf8: "3" }]);
  });
});

test("our columns are those of the recording, and no more", async () => {
  const { types } = readTestData("vqueue-columns.json") as { types: Record<string, string[]> };
  for (const [table, columns] of Object.entries(types)) {
    const rows = await query(
      `select column_name from information_schema.columns where table_name = '${table}' order by ordinal_position`,
    );
    expect([table, rows.map((row) => row["column_name"])]).toEqual([table, columns]);
  }
});
