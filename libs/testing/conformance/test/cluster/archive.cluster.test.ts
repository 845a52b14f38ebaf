/**
 * A cluster that archives completed invocations from Redis to PostgreSQL seconds after they end: every API answers as before, an outage of
 * PostgreSQL affects only requests that need it, and a worker that crashes while it archives affects none.
 */

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { InvocationVerb } from "@perdure/admin-contract";
import { DevCluster } from "@perdure/dev-cluster";
import { type Context, service, TerminalError, type WorkflowContext, workflow } from "@restatedev/restate-sdk";
import { eventually, type HttpAnswer, invocationIdOf, SdkEndpoint, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { probe } from "../../src/probe.js";
import { QUICK_RETRIES } from "../../src/services/common.js";

const TEST_MS = 120_000;
/** The programs may have to be built first. */
const START_MS = 300_000;
const PAYLOAD = "x".repeat(4_000);

const work = service({
  name: "Work",
  handlers: {
    echo: async (ctx: Context, text: string) => ctx.run("say", () => `${text} ${probe.bump(`echo ${text}`)}`),
    large: async (_ctx: Context, text: string) => text,
    /** Fails once, so that it has a journal event. */
    stumble: async (_ctx: Context, text: string) => {
      if (probe.bump(`stumble ${text}`) === 1) throw new Error("the first time");
      return text;
    },
    refuse: async () => {
      throw new TerminalError("not today", { errorCode: 418 });
    },
    sleep: async (ctx: Context) => ctx.sleep(3_600_000),
  },
  options: { retryPolicy: QUICK_RETRIES },
});
const flow = workflow({
  name: "Flow",
  handlers: {
    run: async (ctx: WorkflowContext, text: string) => {
      ctx.set("text", text);
      return `${text} ${probe.bump(`flow ${ctx.key}`)}`;
    },
  },
});

const owned = new AsyncDisposableStack();
let cluster: DevCluster;
let endpoint: SdkEndpoint;
let admin: TestAdminClient;
let ingress: TestIngressClient;

beforeAll(async () => {
  endpoint = owned.use(await SdkEndpoint.start({ services: [work, flow] }));
  cluster = owned.use(await DevCluster.start({ workerSettings: { "archive.age": "2s", "archive.interval": "100ms" } }));
  admin = owned.use(new TestAdminClient(cluster.adminUrl));
  ingress = owned.use(new TestIngressClient(cluster.ingressUrls[0] as string));
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), 30_000);
  await eventually("calls are answered", async () => (await ingress.call(["Work", "large"], "hello")).status === 200, 30_000);
}, START_MS);
afterAll(() => owned.disposeAsync(), 60_000);

/** Keys of the environment in Redis by what they hold, e.g. how many journals. */
async function keysIn(pattern: string): Promise<number> {
  return ((await cluster.redis.request("KEYS", pattern)) as readonly string[]).length;
}

/** Completed invocations that Redis still has. */
async function completedInRedis(): Promise<number> {
  let count = 0;
  for (const key of (await cluster.redis.request("KEYS", "{*}:done")) as readonly string[])
    count += Number(await cluster.redis.request("HLEN", key));
  return count;
}

const untilArchived = (withinMs = 60_000) =>
  eventually("everything completed is archived", async () => (await completedInRedis()) === 0, withinMs);

async function memory(): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(String(await cluster.redis.request("INFO", "memory")))?.[1]);
}

const plain = ({ status, json, text }: HttpAnswer): unknown => ({ status, body: json ?? text });

/** Removes values that grow with time: how long the invocation has been complete. */
function timeless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(timeless);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !GROWING.has(name));
  return Object.fromEntries(kept.map(([name, each]) => [name, timeless(each)]));
}
const GROWING = new Set(["at", "for_ms", "to", "duration_ms", "totals_ms", "wall_ms"]);

/** Answers of every reading API for an invocation. */
async function readAllApis(id: string): Promise<Record<string, unknown>> {
  const rows = (table: string, order: string) => admin.query(`SELECT * FROM ${table} WHERE id = '${id}' ORDER BY ${order}`);
  const verb = async (name: InvocationVerb) => plain(await admin.invocation(id, name));
  return {
    attach: plain(await ingress.attach(id)),
    output: plain(await ingress.output(id)),
    invocation: await admin.row(id),
    status: await rows("sys_invocation_status", "id"),
    journal: await rows("sys_journal", "index"),
    events: await rows("sys_journal_events", "appended_at"),
    explain: timeless(plain(await admin.get(`/invocations/${id}/explain`))),
    timeline: timeless(plain(await admin.get(`/invocations/${id}/timeline?payloads=true`))),
    cancel: await verb("cancel"),
    kill: await verb("kill"),
    pause: await verb("pause"),
    resume: await verb("resume"),
  };
}

const call = (text: string, key = text): Promise<HttpAnswer> => ingress.call(["Work", "echo"], text, { idempotencyKey: key });
const runFlow = (key: string): Promise<HttpAnswer> => ingress.call(["Flow", key, "run"], key);

describe("invocations that have been archived", () => {
  test(
    "leave nothing in Redis",
    async () => {
      const before = await memory();
      let most = 0;
      for (let round = 0; round < 8; round++) {
        const texts = Array.from({ length: 100 }, () => PAYLOAD);
        const calls = texts.map((text, n) => ingress.call(["Work", "large"], text, { idempotencyKey: `large ${round} ${n}` }));
        for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
        most = Math.max(most, await memory());
      }
      expect(most - before).toBeGreaterThan(1_000_000); // Each keeps its input and its output.
      await untilArchived();
      // Buffers of connections come and go; 800 journals would be more than six million.
      expect((await memory()) - before).toBeLessThan(1_000_000);
      expect([await keysIn("{*}:j:*"), await keysIn("{*}:ev:*")]).toEqual([0, 0]);
      const [row] = await admin.query("SELECT count(*) AS n, count(distinct id) AS ids FROM sys_invocation");
      expect([Number(row?.["n"]), Number(row?.["ids"])]).toEqual([801, 801]);
    },
    TEST_MS,
  );

  test(
    "are reported by every API as they were before",
    async () => {
      const answers = {
        echo: await call("one"),
        stumble: await ingress.call(["Work", "stumble"], "two", { idempotencyKey: "two" }),
        refuse: await ingress.call(["Work", "refuse"], "three", { idempotencyKey: "three" }),
        flow: await runFlow("four"),
        unkeyed: await ingress.call(["Work", "large"], "five"),
      };
      const answersById = new Map<string, unknown>();
      for (const answer of Object.values(answers))
        answersById.set(invocationIdOf(answer), await readAllApis(invocationIdOf(answer)));
      const again = plain(await runFlow("four"));
      await untilArchived();
      for (const [id, before] of answersById) expect(await readAllApis(id)).toEqual(before);
      expect(answersById.get(invocationIdOf(answers.stumble))).toMatchObject({ events: [expect.anything()] });
      expect(answersById.get(invocationIdOf(answers.echo))).toMatchObject({ attach: { status: 200, body: "one 1" } });

      // A repeated request gets the stored result, and nothing is executed.
      expect(plain(await call("one"))).toEqual(plain(answers.echo));
      const resent = await ingress.send(["Work", "echo"], "one", { idempotencyKey: "one" });
      expect(resent).toMatchObject({ status: "PreviouslyAccepted", invocationId: invocationIdOf(answers.echo) });
      expect(plain(await ingress.call(["Work", "refuse"], "three", { idempotencyKey: "three" }))).toEqual(plain(answers.refuse));
      expect(plain(await runFlow("four"))).toEqual(again);
      expect([probe.count("echo one"), probe.count("flow four")]).toEqual([1, 1]);
      expect(await admin.query("SELECT value_utf8 FROM state WHERE service_name = 'Flow'")).toEqual([{ value_utf8: '"four"' }]);
      expect(await admin.query("SELECT service_name FROM state WHERE service_name LIKE ':%'")).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "are found by the conditions of a statement",
    async () => {
      await untilArchived();
      const ids = async (where: string) => (await admin.query(`SELECT id FROM sys_invocation WHERE ${where}`)).length;
      expect(await ids("target_service_name = 'Flow'")).toBe(1);
      expect(await ids("target_service_name IN ('Flow', 'Nobody') AND status = 'completed'")).toBe(1);
      expect(await ids("completion_failure LIKE '%not today%'")).toBe(1);
      expect(await ids("idempotency_key = 'two'")).toBe(1);
      expect(await ids("status <> 'completed'")).toBe(0);
      const newest = await admin.query("SELECT target FROM sys_invocation ORDER BY created_at DESC LIMIT 2");
      expect(newest.map((row) => row["target"])).toEqual(["Work/large", "Flow/four/run"]);
    },
    TEST_MS,
  );

  test(
    "are restarted, and purged on request",
    async () => {
      const first = invocationIdOf(await call("restarted"));
      const purged = invocationIdOf(await call("purged"));
      const bare = invocationIdOf(await call("bare"));
      const ended = invocationIdOf(await runFlow("ended"));
      await untilArchived();

      const restarted = await admin.invocation(first, "restart-as-new");
      expect(restarted.status).toBe(200);
      const { new_invocation_id: sibling } = restarted.json as { new_invocation_id: string };
      expect(await ingress.outcome(sibling)).toBe("restarted 2"); // It begins from its input: the step runs again.
      expect(plain(await ingress.output(first))).toMatchObject({ status: 200, body: "restarted 1" });

      for (const id of [purged, ended]) {
        expect((await admin.invocation(id, "purge")).status).toBe(200);
        expect([(await ingress.output(id)).status, await admin.row(id)]).toEqual([404, undefined]);
        expect((await admin.get(`/invocations/${id}/explain`)).status).toBe(404);
        expect(await admin.query(`SELECT id FROM sys_journal WHERE id = '${id}'`)).toEqual([]);
      }
      expect((await call("purged")).json).toBe("purged 2"); // The key means nothing any more.
      expect((await runFlow("ended")).json).toBe("ended 2");

      expect((await admin.invocation(bare, "purge-journal")).status).toBe(200);
      expect(await admin.query(`SELECT id FROM sys_journal WHERE id = '${bare}'`)).toEqual([]);
      expect((await call("bare")).json).toBe("bare 1");
      await untilArchived(); // It has gone there once more.
      expect(await admin.query(`SELECT id FROM sys_journal WHERE id = '${bare}'`)).toEqual([]);
      expect((await call("bare")).json).toBe("bare 1");
      expect((await ingress.output(purged)).status).toBe(200); // The later generation of the same id.
    },
    TEST_MS,
  );
});

describe("without PostgreSQL", () => {
  test(
    "what lives continues, also with a new worker; what needs the archive is unavailable, and is answered when that is back",
    async () => {
      const id = invocationIdOf(await call("kept"));
      const ran = invocationIdOf(await runFlow("kept"));
      await untilArchived();
      const suspendedId = (await ingress.send(["Work", "sleep"])).invocationId;
      await cluster.postgres.stop();
      const large = async (): Promise<number> => (await ingress.call(["Work", "large"], "no key")).status;
      expect(await large()).toBe(200);

      const unavailable = async (answer: Promise<HttpAnswer>): Promise<void> => {
        const { status, text } = await answer;
        expect({ status, text }).toMatchObject({ status: 503 });
      };
      await unavailable(ingress.attach(id));
      await unavailable(ingress.output(id));
      await unavailable(call("kept"));
      await unavailable(runFlow("kept"));
      await unavailable(admin.invocation(id, "restart-as-new"));
      await unavailable(admin.invocation(ran, "purge"));
      await unavailable(admin.get(`/invocations/${id}/explain`));
      await unavailable(admin.post("/query", { query: "SELECT count(*) FROM sys_invocation" }));
      await unavailable(admin.post("/query", { query: `SELECT id FROM sys_journal WHERE id = '${id}'` }));

      const live = `SELECT id FROM sys_invocation WHERE status <> 'completed' AND target = 'Work/sleep'`;
      expect(await admin.query(live)).toEqual([{ id: suspendedId }]);
      expect((await admin.get(`/invocations/${suspendedId}/explain`)).status).toBe(200);
      expect((await admin.get(`/invocations/${suspendedId}/timeline`)).status).toBe(200);

      expect((await call("never seen")).json).toBe("never seen 1");
      expect((await runFlow("never seen")).status).toBe(200);

      await cluster.addWorker(); // Starts without the database, and takes its share.
      await eventually("calls are answered while and after partitions move", async () => {
        for (let n = 0; n < 50; n++) if ((await large()) !== 200) return false;
        return true;
      });
      expect((await call("never seen")).json).toBe("never seen 1");
      for (const key of ["new one", "new two", "new three"]) expect((await call(key)).json).toBe(`${key} 1`);
      expect((await admin.invocation(suspendedId, "kill")).status).toBe(200);

      await cluster.postgres.startAgain();
      await eventually("the archive answers", async () => (await ingress.output(id)).status === 200, 30_000);
      expect((await call("kept")).json).toBe("kept 1");
      await untilArchived();
    },
    TEST_MS,
  );
});

test(
  "a worker that is killed while it archives loses nothing and doubles nothing",
  async () => {
    const keys = Array.from({ length: 600 }, (_, n) => `killed ${n}`);
    const ids = new Map<string, string>();
    for (let from = 0; from < keys.length; from += 100) {
      const some = await Promise.all(keys.slice(from, from + 100).map(async (key) => [key, await call(key)] as const));
      for (const [key, answer] of some) {
        expect(answer.json).toBe(`${key} 1`);
        ids.set(key, invocationIdOf(answer));
      }
    }
    const all = await completedInRedis();
    await eventually("archiving has begun", async () => (await completedInRedis()) < all, 30_000);
    await cluster.workers[0]?.kill();
    await untilArchived();
    const [row] = await admin.query(
      "SELECT count(*) AS n, count(distinct id) AS ids FROM sys_invocation WHERE idempotency_key LIKE 'killed %'",
    );
    expect([Number(row?.["n"]), Number(row?.["ids"])]).toEqual([keys.length, keys.length]);
    for (const key of keys.filter((_, n) => n % 20 === 0)) {
      const again = await call(key);
      expect([again.json, invocationIdOf(again)]).toEqual([`${key} 1`, ids.get(key)]);
    }
  },
  TEST_MS,
);
