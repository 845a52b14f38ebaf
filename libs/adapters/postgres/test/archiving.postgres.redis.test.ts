/** A partition on Redis that archives in PostgreSQL: memory falls, answers stay, and the death of either loses nothing. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type InvocationId, PerdureError, silentLogger, systemClock } from "@perdure/base";
import { Archiver, LocalPartitions, LoopbackPeers, NO_RULES, Processor } from "@perdure/partition-processor";
import { connectRedis, type RedisConnectionOptions, type RedisConnections, RedisPartitionStore } from "@perdure/redis";
import { type PostgresServer, type RedisServer, startPostgres, startRedis } from "@perdure/servers";
import { MessageType } from "@perdure/service-protocol";
import type { Invoke, Mutation } from "@perdure/state-machine";
import { anId, anInvocation, invokeOf, someFacts } from "@perdure/state-machine/testing";
import { type Archive, archived } from "@perdure/storage";
import { openPostgresArchive } from "../src/index.js";

const RETENTION_MS = 3_600_000;
const POLL_MS = 50;

const owned = new AsyncDisposableStack();
let postgres: PostgresServer;
let redis: RedisServer;
beforeAll(async () => {
  postgres = owned.use(await startPostgres());
  redis = owned.use(await startRedis());
}, 120_000);
afterAll(() => owned.disposeAsync());

const options = (): RedisConnectionOptions => ({ nodes: [{ host: "127.0.0.1", port: redis.port }] });

/** Leads partition 0 of an environment; `ageMs` as the archiver's. Without an archive nothing is archived. */
async function leader(connections: RedisConnections, environment: string, archive: Archive, ageMs: number) {
  const store = new RedisPartitionStore(connections, { environment });
  const peers = new LoopbackPeers();
  const stopped: string[] = [];
  const processor = await Processor.start(
    {
      store,
      archive,
      clock: systemClock,
      logger: silentLogger,
      soon: (task) => setImmediate(task),
      invoker: () => ({
        startRun: () => undefined,
        entryStored: () => undefined,
        stopRun: () => undefined,
        requestPause: () => undefined,
        retryNow: () => undefined,
        finishAttempts: async () => undefined,
        status: () => undefined,
        statuses: () => [],
        [Symbol.asyncDispose]: async () => undefined,
      }),
      rules: NO_RULES,
      peers,
      onFenced: () => stopped.push("fenced"),
      onFatal: (error) => stopped.push(error.message),
    },
    { partitions: [0], partitionCount: 1, cleanupIntervalMs: 1_000 },
  );
  peers.connect(processor);
  const moved = { count: 0 };
  const onArchived = (count: number): void => {
    moved.count += count;
  };
  const ports = { store, archive, processor, clock: systemClock, logger: silentLogger, onArchived };
  const archiver = new Archiver(ports, { ageMs, intervalMs: POLL_MS });
  return {
    store,
    stopped,
    moved,
    partitions: new LocalPartitions(processor),
    async [Symbol.asyncDispose](): Promise<void> {
      await archiver[Symbol.asyncDispose]();
      await processor[Symbol.asyncDispose]();
    },
  };
}

const PAYLOAD = new Uint8Array(400).fill(7);

/** Rows of a call that completed just now, with its journal. */
function completedCall(n: number): readonly Mutation[] {
  const now = systemClock.nowMs();
  const id = anId(n);
  const facts = someFacts({
    id,
    idempotencyKey: `k${n}`,
    requestId: n,
    createdAtMs: now,
    completionRetentionMs: RETENTION_MS,
    journalRetentionMs: RETENTION_MS,
  });
  const invocation = anInvocation("completed", {
    facts,
    journal: { length: 2, commands: 2, notifications: 0, outputIndex: 1, hasEvents: false },
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: now, completedAtMs: now },
    outcome: { kind: "success", value: new Uint8Array([n & 255, n >> 8]) },
  });
  return [
    { kind: "putInvocation", invocation },
    { kind: "appendEntry", id, index: 0, entry: { type: MessageType.Input, body: PAYLOAD, appendedAtMs: now } },
    { kind: "appendEntry", id, index: 1, entry: { type: MessageType.Output, body: PAYLOAD, appendedAtMs: now } },
    { kind: "putTimer", timer: { dueAtMs: now + RETENTION_MS, kind: "purge", id, sequence: 0 } },
  ];
}

async function fill(connections: RedisConnections, environment: string, from: number, count: number): Promise<void> {
  const store = new RedisPartitionStore(connections, { environment });
  const epoch = await store.claim(0);
  for (let done = 0; done < count; done += 500) {
    const numbers = Array.from({ length: Math.min(500, count - done) }, (_, n) => from + done + n);
    const outcome = await store.commit([{ partition: 0, epoch, mutations: numbers.flatMap(completedCall) }]);
    expect(outcome.kind).toBe("committed");
  }
}

const duplicateOf = (n: number): Invoke => invokeOf(someFacts({ id: anId(n), idempotencyKey: `k${n}`, requestId: -n }));

/** Two bytes of the result, or the reason why there is none. */
async function outputOf(partitions: LocalPartitions, n: number): Promise<string> {
  try {
    const answer = await partitions.output(anId(n));
    if (answer.kind !== "completed" || answer.completion.outcome.kind !== "success") return answer.kind;
    return [...answer.completion.outcome.value].join();
  } catch (cause) {
    return PerdureError.from(cause).code;
  }
}
const expectedOf = (n: number): string => [n & 255, n >> 8].join();

function duplicate(partitions: LocalPartitions, n: number): Promise<string> {
  return new Promise((resolve) => {
    partitions.invoke(duplicateOf(n), true, {
      submitted: (existing) => {
        if (existing === undefined) resolve("new");
      },
      completed: ({ outcome }) => resolve(outcome.kind === "success" ? [...outcome.value].join() : "failure"),
      unavailable: () => resolve("unavailable"),
    });
  });
}

async function until(holds: () => boolean | Promise<boolean>, what: string, withinMs = 60_000): Promise<void> {
  for (const deadline = performance.now() + withinMs; !(await holds()); ) {
    if (performance.now() > deadline) throw new Error(`${what} did not come about`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function memoryOf(server: RedisServer): Promise<number> {
  const match = /^used_memory:(\d+)/m.exec(String(await server.request("INFO", "memory")));
  return Number(match?.[1]);
}

async function completedIn(store: Pick<RedisPartitionStore, "completed">): Promise<Set<InvocationId>> {
  const ids = new Set<InvocationId>();
  for await (const { facts } of store.completed(0)) ids.add(facts.id);
  return ids;
}

test("20,000 invocations are archived: Redis is as empty as before, and every question has its answer", async () => {
  const COUNT = 20_000;
  await using connections = await connectRedis(options(), { clock: systemClock, logger: silentLogger });
  await using archive = await openPostgresArchive({ url: postgres.url, environment: "env_many" }, silentLogger);
  const before = await memoryOf(redis);
  await fill(connections, "env_many", 1, COUNT);
  const full = await memoryOf(redis);
  expect(full - before).toBeGreaterThan(COUNT * 1_000);
  await using current = await leader(connections, "env_many", archive, 1);
  await until(() => current.moved.count >= COUNT, "archiving");
  expect((await completedIn(current.store)).size).toBe(0);
  expect((await current.store.timers(0, "retention", 0, 10)).length).toBe(0);
  expect((await memoryOf(redis)) - before).toBeLessThan((full - before) / 20);

  const some = [1, 2, 777, 10_000, 19_999, COUNT];
  for (const n of some) {
    expect(await outputOf(current.partitions, n)).toBe(expectedOf(n));
    expect(await duplicate(current.partitions, n)).toBe(expectedOf(n));
  }
  const reading = archived(current.store, archive, () => systemClock.nowMs());
  expect((await completedIn(reading)).size).toBe(COUNT);
  const entries = await reading.readJournal(0, anId(777), 2);
  expect(entries.map(({ type, body }) => [type, body.length])).toEqual([
    [MessageType.Input, 400],
    [MessageType.Output, 400],
  ]);
  const restarted = await current.partitions.submit({
    kind: "restartAsNew",
    id: anId(777),
    newId: anId(50_000),
    from: 0,
    keepDeployment: true,
    moveTo: undefined,
  });
  expect(restarted).toEqual({ kind: "accepted" });
  expect((await current.store.readJournal(0, anId(50_000), 1))[0]?.body.length).toBe(400);

  // What is purged is gone at once, also from statements, and its key may be used again.
  expect(await current.partitions.submit({ kind: "purge", id: anId(777) })).toEqual({ kind: "done" });
  expect(await outputOf(current.partitions, 777)).toBe("notFound");
  expect((await completedIn(reading)).has(anId(777))).toBe(false);
  expect(await duplicate(current.partitions, 777)).toBe("new");
  await until(async () => (await archive.find([anId(777)])).length === 0, "forgetting");
  expect(current.stopped).toEqual([]);
}, 180_000);

test("kill -9 of PostgreSQL: live work continues, archived answers are unavailable and come back, archiving catches up", async () => {
  await using connections = await connectRedis(options(), { clock: systemClock, logger: silentLogger });
  await using archive = await openPostgresArchive({ url: postgres.url, environment: "env_postgres" }, silentLogger);
  await fill(connections, "env_postgres", 1, 3_000);
  await using current = await leader(connections, "env_postgres", archive, 1);
  await until(() => current.moved.count >= 400, "the first pages");
  await postgres.kill();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const left = [...(await completedIn(current.store))].length;
  const answers = new Set<string>();
  for (let n = 1; n <= 3_000; n += 101) {
    const answer = await outputOf(current.partitions, n);
    answers.add(answer === expectedOf(n) ? "right" : answer);
  }
  expect([...answers].filter((each) => each !== "right")).toEqual(["STO0002"]);
  expect(await duplicate(current.partitions, 1)).toBe("unavailable");
  // New work does not need the archive.
  for (let n = 60_000; n < 60_020; n++) {
    const command = invokeOf(someFacts({ id: anId(n), requestId: n }));
    const accepted = new Promise((resolve) => {
      current.partitions.invoke(command, false, {
        submitted: () => resolve("accepted"),
        completed: resolve,
        unavailable: resolve,
      });
    });
    expect(await accepted).toBe("accepted");
  }
  expect((await completedIn(current.store)).size).toBe(left);
  await postgres.startAgain();
  await until(async () => (await completedIn(current.store)).size === 0, "catching up");
  for (let n = 1; n <= 3_000; n += 101) expect(await outputOf(current.partitions, n)).toBe(expectedOf(n));
  const reading = archived(current.store, archive, () => systemClock.nowMs());
  expect((await completedIn(reading)).size).toBe(3_000);
  expect(current.stopped).toEqual([]);
}, 120_000);

test("kill -9 of Redis while it is archived from ends the leader; the next one continues, and each is found once", async () => {
  await using connections = await connectRedis({ ...options(), timeoutMs: 3_000 }, { clock: systemClock, logger: silentLogger });
  await using archive = await openPostgresArchive({ url: postgres.url, environment: "env_redis" }, silentLogger);
  await fill(connections, "env_redis", 1, 3_000);
  {
    await using current = await leader(connections, "env_redis", archive, 1);
    await until(() => current.moved.count >= 200, "the first page");
    await redis.kill();
    await new Promise((resolve) => setTimeout(resolve, 300)); // What was put by now is in both.
  }
  await redis.startAgain();
  await using again = await connectRedis(options(), { clock: systemClock, logger: silentLogger });
  await using current = await leader(again, "env_redis", archive, 1);
  await until(async () => (await completedIn(current.store)).size === 0, "archiving the rest");
  const reading = archived(current.store, archive, () => systemClock.nowMs());
  let rows = 0;
  for await (const { facts } of reading.completed(0)) if (facts.idempotencyKey !== undefined) rows++;
  expect(rows).toBe(3_000);
  for (let n = 1; n <= 3_000; n += 101) expect(await duplicate(current.partitions, n)).toBe(expectedOf(n));
}, 120_000);
