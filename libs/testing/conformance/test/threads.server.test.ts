/** A server that leads its partitions in several threads: what users see is that of one, and a restart may have any number of threads. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type InvocationId, partitionOf } from "@perdure/base";
import { SeededRandom } from "@perdure/testkit";
import { eventually, expectRefusal, probe, Server, StubbornClient, TestWorld, temporaryDirectory } from "../src/index.js";
import { type CrashJob, counterObject, workService } from "../src/services/crash.js";
import { fiveSteps } from "../src/services/crash-attempt.js";
import { featureServices } from "../src/services/index.js";
import { lifecycleObject, lifecycleService } from "../src/services/lifecycle.js";
import { Collector } from "./observability/collector.js";

const THREADS = 3;
const PARTITIONS = 7;
/** Keys of objects, some in each partition. */
const KEYS = Array.from({ length: 48 }, (_, i) => `key ${i}`);
const CONCURRENCY = 100;
const SEED = Number(process.env["PERDURE_CONFORMANCE_SEED"] ?? 20_261_128);

const threadOf = (id: string): number => partitionOf(id as InvocationId, PARTITIONS) % THREADS;
const SETTINGS = { "worker.threads": THREADS, "worker.num-partitions": PARTITIONS };

describe(`a server with ${THREADS} threads`, () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await TestWorld.start({
      settings: {
        ...SETTINGS,
        "worker.invoker.inactivity-timeout": "50ms",
        "worker.invoker.concurrent-invocations-limit": CONCURRENCY,
      },
    });
    await world.deploy({ services: [...featureServices(""), lifecycleService, lifecycleObject, fiveSteps], kind: "h2-bidi" });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** One waiting invocation of an object in each thread; those of `failing` are paused. */
  async function waitingInEachThread(
    name: string,
    handler: readonly [string, string] = ["Locked", "failing"],
  ): Promise<readonly { readonly id: string; readonly key: string }[]> {
    const found = new Map<number, { readonly id: string; readonly key: string }>();
    for (const key of KEYS.map((each) => `${name} ${each}`)) {
      if (found.size === THREADS) break;
      const { invocationId: id } = await world.ingress.send([handler[0], key, handler[1]], key);
      if (!found.has(threadOf(id))) found.set(threadOf(id), { id, key });
    }
    expect(found.size).toBe(THREADS);
    return [...found.values()];
  }
  const statusOf = async (id: string) => (await world.admin.row(id))?.["status"];
  const untilStatus = (id: string, status: string) => eventually(`it is ${status}`, async () => (await statusOf(id)) === status);

  test("objects of every partition keep their state, whichever thread gets the request", async () => {
    const sends = await Promise.all(KEYS.map((key) => world.ingress.send(["Store", key, "put"], { a: key })));
    expect(new Set(sends.map(({ invocationId }) => partitionOf(invocationId as InvocationId, PARTITIONS))).size).toBe(PARTITIONS);
    for (const { invocationId } of sends) await world.ingress.attach(invocationId);
    for (const key of KEYS) {
      // A connection of its own for each: the kernel spreads them among the threads.
      const answer = await fetch(`${world.server.ingressUrl}/Store/${encodeURIComponent(key)}/get`, {
        method: "POST",
        headers: { connection: "close", "content-type": "application/json" },
        body: JSON.stringify("a"),
      });
      expect(await answer.json()).toBe(key);
    }
  });

  test("handlers call and send to objects of other threads, in their order", async () => {
    for (const key of KEYS.slice(0, 12)) {
      const list = await world.ingress.result(["Calls", "order"], { key: `order ${key}`, waits: [false, true, false, true] });
      expect(list).toEqual([0, 1, 2, 3, "end"]);
    }
    expect(await world.ingress.result(["Calls", "crowd"], 30)).toBe((29 * 30) / 2);
  });

  test("equal idempotency keys are one invocation, whichever threads get the requests", async () => {
    const call = (i: number) =>
      fetch(`${world.server.ingressUrl}/Echo/echo`, {
        method: "POST",
        headers: { connection: "close", "content-type": "application/json", "idempotency-key": "the same" },
        body: String(i),
      }).then(async (answer) => [answer.headers.get("x-restate-id"), await answer.json()]);
    const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => call(i)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test("awakeables are completed at the ingress of any thread", async () => {
    for (let i = 0; i < 8; i++) {
      const { invocationId } = await world.ingress.send(["Awakeables", "wait"], `awakeable ${i}`);
      const id = await eventually("the awakeable", () => probe.get<string>(`awaited:awakeable ${i}`));
      const answer = await fetch(`${world.server.ingressUrl}/restate/awakeables/${id}/resolve`, {
        method: "POST",
        headers: { connection: "close", "content-type": "application/json" },
        body: JSON.stringify(i),
      });
      expect(answer.status).toBe(202);
      expect((await world.ingress.attach(invocationId)).status).toBe(200);
    }
  });

  test("invocations of every thread are paused, explained, resumed, killed and cancelled", async () => {
    for (const { id, key } of await waitingInEachThread("paused")) {
      await untilStatus(id, "paused");
      expect((await world.admin.get(`/invocations/${id}/explain`)).text).toContain("paused");
      expect((await world.admin.invocation(id, "resume")).status).toBe(200);
      await eventually("its second attempt", () => probe.count(`lockedFailing:${key}`) === 2);
      await untilStatus(id, "paused");
      expect((await world.admin.invocation(id, "kill")).status).toBe(200);
      await untilStatus(id, "completed");
    }
    for (const { id } of await waitingInEachThread("held", ["Store", "hold"])) {
      await untilStatus(id, "suspended");
      expect((await world.admin.invocation(id, "cancel")).status).toBe(202);
      await untilStatus(id, "completed");
    }
  });

  test("a running attempt of any thread is cut off, and continues", async () => {
    const threads = new Set<number>();
    for (let i = 0; threads.size < THREADS && i < 60; i++) {
      const name = `cut ${i}`;
      probe.put(`${name}: hold`, true);
      // A connection of its own each, so that plain services run in every thread.
      const sent = await fetch(`${world.server.ingressUrl}/FiveSteps/run/send`, {
        method: "POST",
        headers: { connection: "close", "content-type": "application/json" },
        body: JSON.stringify(name),
      });
      const { invocationId: id } = (await sent.json()) as { readonly invocationId: string };
      await eventually("the third step", () => probe.count(`${name}: begun 3`) === 1);
      probe.put(`${name}: hold`, false);
      expect((await world.admin.http.request("POST", `/invocations/${id}/crash-attempt`)).status).toBe(202);
      expect((await world.ingress.attach(id)).status).toBe(200);
      expect(probe.count(`${name}: begun 3`)).toBe(2);
      threads.add(threadOf(id));
    }
    expect(threads.size).toBe(THREADS);
  });

  test("SQL shows one node, all partitions and the invocations of all threads", async () => {
    const { admin } = world;
    expect(await admin.query("SELECT status, partitions_leading FROM sys_node")).toEqual([
      { status: "alive", partitions_leading: PARTITIONS },
    ]);
    const partitions = await admin.query("SELECT id, status, leader, epoch FROM sys_partition ORDER BY id");
    expect(partitions).toEqual(
      Array.from({ length: PARTITIONS }, (_, id) => ({ id, status: "leading", leader: "node1", epoch: 1 })),
    );
    const held = await waitingInEachThread("rows");
    for (const { id } of held) await untilStatus(id, "paused");
    const ids = held.map(({ id }) => `'${id}'`).join(", ");
    expect(await admin.query(`SELECT COUNT(1) AS n FROM sys_invocation WHERE id IN (${ids}) AND status = 'paused'`)).toEqual([
      { n: THREADS },
    ]);
    for (const { id } of held) await admin.invocation(id, "kill");
  });

  test("metrics are those of all threads together", async () => {
    const value = async (series: string): Promise<number> => {
      const { text } = await world.admin.get("/metrics");
      const line = text.split("\n").find((each) => each.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? 0);
    };
    const completed = 'perdure_worker_invocations_completed_total{result="success"}';
    const before = await value(completed);
    await Promise.all(KEYS.map((key) => world.ingress.result(["Store", key, "put"], { b: 1 })));
    expect((await value(completed)) - before).toBe(KEYS.length);
    expect(await value('perdure_worker_partitions{role="owner"}')).toBe(PARTITIONS);
    expect(await value("perdure_worker_partitions_expected")).toBe(PARTITIONS);
    expect(await value('perdure_worker_concurrency_slots{state="limit"}')).toBe(CONCURRENCY);
  });

  test("a registration is visible at the ingress of every thread when it is answered", async () => {
    for (let i = 0; i < 4; i++) {
      await world.deploy({ services: [...featureServices(String(i))], kind: "h2-bidi" });
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          fetch(`${world.server.ingressUrl}/Echo${i}/echo`, {
            method: "POST",
            headers: { connection: "close", "content-type": "application/json" },
            body: "1",
          }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
    }
  });
});

test("a storage limit holds for all threads", async () => {
  await using world = await TestWorld.start({ settings: { ...SETTINGS, "limits.stored-bytes": "2MiB" } });
  await world.deploy({ services: featureServices("") });
  const put = async (key: string, text: string) => {
    const answer = await fetch(`${world.server.ingressUrl}/Store/${key}/put`, {
      method: "POST",
      headers: { connection: "close", "content-type": "application/json" },
      body: JSON.stringify({ text }),
    });
    return [answer.status, (await answer.text()).includes("TEN0003")] as const;
  };
  const large = "x".repeat(100_000);
  let isFull = false;
  await eventually("the limit", async () => {
    const [status, isRefused] = await put(`large ${Math.random()}`, large + Math.random());
    isFull = status !== 200 && isRefused;
    return isFull;
  });
  expect(isFull).toBe(true);
  const answers = await Promise.all(KEYS.slice(0, 24).map((key) => put(encodeURIComponent(key), "y")));
  expect(answers.filter(([, isRefused]) => !isRefused)).toEqual([]);
});

test("spans of a call are one tree, although threads have its parts", async () => {
  await using collector = await Collector.start();
  const tracing = { "tracing-endpoint": collector.url, "tracing-sample-ratio": "1" };
  await using world = await TestWorld.start({ settings: { ...SETTINGS, ...tracing } });
  await world.deploy({ services: featureServices(""), kind: "h2-bidi" });
  for (const key of KEYS.slice(0, 8)) await world.ingress.result(["Calls", "order"], { key, waits: [true] });
  await world.server.stop(); // It sends what it has before it ends.
  const { spans } = collector;
  const parents = new Map(spans.filter(({ name }) => name === "invocation-start Calls/order").map((span) => [span.spanId, span]));
  const children = spans.filter(({ name }) => name === "invocation-start Store/append");
  expect([parents.size, children.length]).toEqual([8, 16]);
  for (const { traceId, parentSpanId } of children) expect(parents.get(parentSpanId ?? "")?.traceId).toBe(traceId);
  await world.server.startAgain();
});

test("levels of the log change in all threads", async () => {
  const baseDir = temporaryDirectory();
  const file = join(baseDir, "perdure.toml");
  writeFileSync(file, 'log-filter = "info"\n');
  await using server = await Server.start({ settings: SETTINGS, environment: { PERDURE_CONFIG: file }, baseDir });
  writeFileSync(file, 'log-filter = "info,ingress=debug"\n');
  process.kill(server.pid, "SIGHUP");
  const changed = (line: string) => line.includes("log levels changed") && line.includes("info,ingress=debug");
  await eventually("a line of each thread", () => server.lines.filter(changed).length === THREADS);
  expect(server.lines.filter(changed).filter((line) => /"thread":[12]\b/.test(line))).toHaveLength(THREADS - 1);
});

describe("starts", () => {
  test("are refused together with the commit log", async () => {
    const { exit, output } = await expectRefusal({
      "worker.threads": 2,
      "worker.storage-rocksdb.commit-log": "true",
      "base-dir": temporaryDirectory(),
    });
    expect(exit.code).toBe(1);
    expect(output).toMatch(/OPS0001.*\n*.*'worker\.threads' is more than 1/);
  });

  test("are refused at a port that another program uses, although threads share theirs", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, resolve));
    try {
      const { port } = other.address() as { readonly port: number };
      const { output } = await expectRefusal({ ...SETTINGS, "ingress.bind-port": port, "base-dir": temporaryDirectory() });
      expect(output).toContain("RT0004");
    } finally {
      other.close();
    }
  });
});

describe(`a server with changing numbers of threads (seed ${SEED})`, () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await TestWorld.start({ settings: { ...SETTINGS, "worker.invoker.inactivity-timeout": "25ms" } });
    await world.deploy({ services: [counterObject, workService], kind: "h2-bidi" });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test("loses nothing and does nothing twice when it is killed or stopped under load", async () => {
    const random = new SeededRandom(SEED);
    using client = new StubbornClient(world.server.ingressUrl);
    const expected = new Map<string, number>();
    let isStopping = false;
    let doneCount = 0;
    async function caller(number: number, own: SeededRandom): Promise<void> {
      for (let i = 0; !isStopping; i++) {
        const counters = Array.from({ length: 1 + own.below(3) }, () => `count ${own.below(12)}`);
        const job: CrashJob = { name: `threads ${number}.${i}`, steps: 1 + own.below(3), sleepMs: own.below(40), counters };
        for (const [index, key] of counters.entries())
          expected.set(key, (expected.get(key) ?? 0) + (index === 0 ? job.steps : 1));
        const how = own.chance(0.5) ? "call" : "sendAndAttach";
        const values = await client[how]<string[]>(["Work", "work"], job, `job ${job.name}`);
        expect(values).toHaveLength(job.steps);
        for (const [step, value] of values.entries())
          expect(new Set(probe.list(`saw:${job.name}/${step}`))).toEqual(new Set([value]));
        doneCount++;
      }
    }
    const callers = Promise.all(Array.from({ length: 10 }, (_, number) => caller(number, random.fork())));
    for (const [round, threads] of [1, 3, 2, 5, 5, 3, 1, 3].entries()) {
      await delay(300 + random.below(500));
      if (round % 2 === 0) await world.server.kill();
      else expect(await world.server.stop()).toEqual({ code: 0, signal: null });
      await world.server.startAgain({ "worker.threads": threads });
    }
    isStopping = true;
    await callers;
    expect(doneCount).toBeGreaterThan(20);
    for (const [key, sum] of expected)
      await eventually(`the sum of ${key}`, async () => (await world.ingress.result<number>(["Tally", key, "sum"])) === sum);
  }, 120_000);
});
