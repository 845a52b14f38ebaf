/**
 * The promotion of a replica by the operator, with three real Redis that run the operator's start script. The ConfigMap with the record is
 * in memory, and so is the clock: what is under test is what becomes of the data.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Secret, silentLogger } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import { type RedisConnections, type RedisReplication, readReplication, setPrimary } from "@perdure/redis";
import { Metrics } from "@perdure/telemetry";
import { VirtualClock } from "@perdure/testkit";
import { operatorMetrics } from "../src/metrics.js";
import type { Workload } from "../src/observed-objects.js";
import { FENCE } from "../src/redis-failover/decision.js";
import { type FailoverResult, RedisFailover } from "../src/redis-failover/failover.js";
import { cell } from "./cell.js";
import { PASSWORD, ReplicatedPods, replicatedEnvironment, write } from "./replicated-redis.js";

const TEST_MS = 120_000;
const AFTER_MS = 60_000;
const POLL_MS = 50;
/** Nothing listens there either. */
const NOWHERE = { host: "127.0.0.1", port: 2 } as const;
const password = new Secret(PASSWORD);

/** The ConfigMap, with the checks of versions that an API server makes. */
class ConfigMaps {
  object: KubeObject | undefined;
  #version = 0;

  readonly find = async <T>(): Promise<T | undefined> => this.object as T | undefined;
  readonly create = async <T>(object: KubeObject): Promise<T> => this.#store(object, undefined) as T;
  readonly apply = async <T>(object: KubeObject): Promise<T> => this.#store(object, object.metadata.resourceVersion) as T;

  get primary(): unknown {
    return (this.object?.["data"] as Readonly<Record<string, string>> | undefined)?.["primary"];
  }

  #store(object: KubeObject, expected: string | undefined): KubeObject {
    if (this.object?.metadata.resourceVersion !== expected) throw new Error("conflict");
    this.object = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    return this.object;
  }
}

let pods: ReplicatedPods;
let maps: ConfigMaps;
let clock: VirtualClock;
let metrics: Metrics;
let events: string[];
let failover: RedisFailover;

beforeEach(async () => {
  pods = await ReplicatedPods.create();
  maps = new ConfigMaps();
  clock = new VirtualClock();
  events = [];
  newOperator();
  await pods.startAll();
  for (const ordinal of [0, 1, 2]) await pods.untilReady(ordinal);
}, TEST_MS);
afterEach(() => pods[Symbol.asyncDispose](), TEST_MS);

/** A process that has just begun to lead remembers nothing. */
function newOperator(): void {
  metrics = new Metrics();
  failover = new RedisFailover({
    client: maps,
    cell,
    clock,
    logger: silentLogger,
    events: { record: async (_, { reason }) => void events.push(reason) },
    metrics: operatorMetrics(metrics, () => clock.nowMs()),
    nodesOf: () => pods.nodes,
  });
}

const setWith = (readyReplicas: number): Workload => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "redis" },
  status: { replicas: 3, readyReplicas },
});

const running = (after?: string): EnvironmentResource =>
  ({ ...replicatedEnvironment(undefined, after), status: { data: { present: true } } }) as EnvironmentResource;

/** Longer than the pauses that passes request, because each one waits for a server that does not answer. */
const PASS_MS = 25_000;
/** One pass. `ready`: the pods that Kubernetes reports as ready. */
async function pass({ ready = 0, environment = running() } = {}): Promise<FailoverResult> {
  clock.advanceBy(PASS_MS);
  const result = await failover.run(environment, setWith(ready), pods.url, new AbortController().signal);
  if (result === undefined) throw new Error("there are three");
  return result;
}

const stateOf = (ordinal: number): Promise<RedisReplication> =>
  readReplication({ node: pods.nodes[ordinal] as (typeof pods.nodes)[number], password });

const problemsOf = ({ problems }: FailoverResult): readonly string[] => problems.map(({ type, reason }) => `${type}/${reason}`);

/** Repeats passes until one is as expected: connections between Redis take a moment. */
async function until(isExpected: (result: FailoverResult) => boolean | Promise<boolean>): Promise<FailoverResult> {
  for (;;) {
    const result = await pass();
    if (await isExpected(result)) return result;
    await sleep(POLL_MS);
  }
}

const promotedTo = (pod: string) => () => maps.primary === pod;
const isComplete = (result: FailoverResult): boolean => problemsOf(result).includes("RedisPromoted/Complete");

async function writeMany(redis: RedisConnections, prefix: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await write(redis, `${prefix}:${n}`);
}

/** Cuts a replica off, so that the other one alone has what is acknowledged next, and ends the primary. */
async function writeMissedBy(ordinal: number, redis: RedisConnections, prefix: string, count: number): Promise<void> {
  await setPrimary({ node: pods.nodes[ordinal] as (typeof pods.nodes)[number], password }, NOWHERE);
  await writeMany(redis, prefix, count);
  await pods.kill(0);
}

test.each([
  { missedBy: 1, chosen: 2 },
  { missedBy: 2, chosen: 1 },
])(
  "the replica that has everything acknowledged is promoted, and not redis-$missedBy; the lost primary comes back as a replica",
  async ({ missedBy, chosen }) => {
    {
      await using redis = await pods.connect(0);
      await writeMany(redis, "before", 20);
      await pods.untilSize(missedBy, 20);
      await writeMissedBy(missedBy, redis, "after", 20);
    }
    // Nothing happens before the time has passed.
    await pass();
    expect(maps.primary).toBeUndefined();
    await until(promotedTo(`redis-${chosen}`));
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(AFTER_MS);
    expect(events).toEqual(["RedisPromoted"]);
    expect(metrics.text()).toMatch(/perdure_operator_redis_promotions_total\{result="promoted"\} 1/);

    expect(await pods.size(chosen)).toBe(40);
    await using redis = await pods.connect(chosen);
    await write(redis, "later");
    await pods.untilSize(missedBy, 41);

    // Kubernetes starts the pod of the lost one again, with its volume.
    await pods.start(0, `redis-${chosen}`);
    await pods.untilSize(0, 41);
    const result = await until(isComplete);
    expect(result.record).toMatchObject({ ordinal: chosen, promotions: 1, since: expect.stringMatching(/Z$/) });
    for (const ordinal of [0, 1, 2]) await pods.untilReady(ordinal);
  },
  TEST_MS,
);

test(
  "a primary that was only cut off acknowledges nothing any more, and becomes a replica when it is back",
  async () => {
    await using old = await pods.connect(0);
    await writeMany(old, "before", 10);
    for (const ordinal of [1, 2]) await pods.untilSize(ordinal, 10);
    pods.signal(0, "SIGSTOP");
    // Replicas detect a frozen primary after a minute: until then they are connected, and it is not lost. The links break at once here.
    const failed = until(promotedTo("redis-1"));
    for (const ordinal of [1, 2]) {
      await using replica = await pods.connect(ordinal);
      await replica.commits.one(["CONFIG", "SET", "repl-timeout", "1"]);
    }
    await failed;
    pods.signal(0, "SIGCONT");
    const lost = write(old, "lost").then(
      (count) => count,
      () => "refused",
    );
    await until(isComplete);
    expect(await stateOf(0)).toMatchObject({ role: "replica", isLinkUp: true });
    expect(await lost).toBe("refused");
    expect(await pods.size(0)).toBe(10);
    expect(events).toEqual(["RedisPromoted"]);
  },
  TEST_MS,
);

test(
  "nothing is promoted while a replica is missing, because it may be the only one that has the last commit; then everything is there",
  async () => {
    {
      await using redis = await pods.connect(0);
      await writeMany(redis, "before", 10);
      await pods.untilSize(2, 10);
      await writeMissedBy(2, redis, "after", 10);
    }
    pods.signal(1, "SIGSTOP");
    const refused = await until((result) => result.problems.length > 0);
    expect(problemsOf(refused)).toEqual(["RedisPromotionRefused/ReplicaUnreachable"]);
    await pass();
    expect(events).toEqual(["RedisPromotionRefused"]);
    expect(metrics.text()).toMatch(/perdure_operator_redis_promotions_total\{result="refused"\} 1/);
    // Nothing was changed: everything continues when the primary is back first.
    expect(await stateOf(2)).toMatchObject({ role: "replica", primary: `${NOWHERE.host}:${NOWHERE.port}` });

    pods.signal(1, "SIGCONT");
    await until(promotedTo("redis-1"));
    expect(await pods.size(1)).toBe(20);
  },
  TEST_MS,
);

test(
  "nothing is promoted when a replica was started anew since the loss",
  async () => {
    {
      await using redis = await pods.connect(0);
      await writeMany(redis, "before", 10);
    }
    await pods.kill(0);
    await pods.kill(2);
    await pods.start(2);
    const refused = await until(({ problems }) => problems.length > 0 && !problems[0]?.reason.startsWith("ReplicaUnreachable"));
    expect(problemsOf(refused)).toEqual(["RedisPromotionRefused/HistoriesDiffer"]);
    // The primary comes back with its volume: everything continues, and the condition is gone.
    await pods.start(0);
    for (const ordinal of [0, 1, 2]) await pods.untilReady(ordinal);
    expect((await pass()).problems).toEqual([]);
    expect(maps.primary).toBeUndefined();
  },
  TEST_MS,
);

test(
  "an operator that ends in the middle of a promotion is continued by the next one, at each of its steps",
  async () => {
    {
      await using redis = await pods.connect(0);
      await writeMany(redis, "before", 10);
      for (const ordinal of [1, 2]) await pods.untilSize(ordinal, 10);
    }
    await pods.kill(0);
    const [, one, two] = pods.nodes.map((node) => ({ node, password }));
    if (one === undefined || two === undefined) throw new Error("there are three");
    // It had fenced one replica.
    await setPrimary(one, FENCE);
    await until(promotedTo("redis-1"));
    await until(async () => (await stateOf(2)).kind === "answers" && (await pods.isReady(2)));
    // The next one had written the record and not yet promoted.
    await setPrimary(two, FENCE);
    await setPrimary(one, FENCE);
    newOperator();
    await until(async () => pods.isReady(1));
    expect(await stateOf(1)).toMatchObject({ role: "primary" });
    await using redis = await pods.connect(1);
    await write(redis, "later");
    await pods.untilSize(2, 11);
  },
  TEST_MS,
);

test(
  "replicas that were fenced follow the primary again when it comes back before another one was promoted",
  async () => {
    for (const ordinal of [1, 2]) await setPrimary({ node: pods.nodes[ordinal] as (typeof pods.nodes)[number], password }, FENCE);
    await until(async () => (await pods.isReady(1)) && (await pods.isReady(2)));
    expect(maps.primary).toBeUndefined();
    expect(events).toEqual([]);
  },
  TEST_MS,
);

test(
  "with `never` nothing is promoted, and no connection is opened while all are ready",
  async () => {
    await pods.kill(0);
    for (let n = 0; n < 5; n++) expect((await pass({ environment: running("never") })).problems).toEqual([]);
    expect(maps.primary).toBeUndefined();
    newOperator();
    for (const ordinal of [1, 2]) await pods.kill(ordinal);
    expect(await pass({ ready: 3 })).toMatchObject({ problems: [], againMs: undefined });
  },
  TEST_MS,
);

test(
  "a record that was deleted is written again from the status",
  async () => {
    const since = "2026-01-01T00:00:00Z";
    const environment = {
      ...running(),
      status: { data: { present: true, redisPrimary: { pod: "redis-2", promotions: 3, since } } },
    } as EnvironmentResource;
    const { record } = await pass({ environment, ready: 3 });
    expect(record).toMatchObject({ ordinal: 2, promotions: 3, since });
    expect(maps.object).toMatchObject({ data: { primary: "redis-2", promotions: "3", since } });
    expect(maps.object?.metadata.ownerReferences).toBeUndefined();
  },
  TEST_MS,
);
