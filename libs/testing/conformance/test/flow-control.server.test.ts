/** Flow control end to end: rules through the management API, calls through the ingress, handlers of the published SDK. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, TestWorld } from "../src/index.js";
import { admissionGate, gateService, naps } from "../src/services/admission-gate.js";
import { gate } from "./gate.js";

const LONG_TEST_MS = 90_000;

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.invoker.max-protocol-version": 7 } });
  await world.deploy({ services: [gateService] });
});
afterAll(async () => world[Symbol.asyncDispose]());

const { scoped, send, rules, inside, waiting, done } = gate(() => world);

async function removeRules(...patterns: readonly string[]): Promise<void> {
  const answer = await world.admin.post(
    "/limits/rules/bulk-delete",
    patterns.map((pattern) => ({ pattern })),
  );
  expect(answer.json).toEqual(patterns);
}

const groupOf = (name: string) => admissionGate.group(name);
const limitsOf = (scope: string) =>
  world.admin.query(`select level, l1, l2, usage, concurrency_limit, num_waiters from sys_user_limits where scope = '${scope}'`);

describe("a concurrency limit", () => {
  test(
    "holds under load, and is used to the full",
    async () => {
      await rules({ pattern: "load", limits: { concurrency: 3 } });
      const ids = await Promise.all(Array.from({ length: 100 }, (_, n) => send("load", { group: "load", name: `${n}`, ms: 10 })));
      expect(await done(ids)).toHaveLength(100);
      expect(groupOf("load").mostInside).toBe(3);
      expect(groupOf("load").came).toHaveLength(100);
    },
    LONG_TEST_MS,
  );

  test("holds for each level of the limit key by itself", async () => {
    await rules(
      { pattern: "levels", limits: { concurrency: 4 } },
      { pattern: "levels/*", limits: { concurrency: 2 } },
      { pattern: "levels/*/*", limits: { concurrency: 1 } },
      { pattern: "levels/roomy", limits: { concurrency: 3 } },
    );
    const enter = (name: string, limitKey: string | undefined, times: number) =>
      Promise.all(
        Array.from({ length: times }, (_, n) =>
          send("levels", { group: "levels", name: `${name}${n}` }, limitKey === undefined ? {} : { limitKey }),
        ),
      );
    const ids = [...(await enter("user", "a/u", 3)), ...(await enter("tenant", "a", 3))];
    await inside("levels", 2); // One of a/u, and one more of a.
    ids.push(...(await enter("roomy", "roomy", 4)));
    await inside("levels", 4); // Two more, and the scope is full.
    expect([...groupOf("levels").inside].filter((name) => name.startsWith("roomy"))).toHaveLength(2);
    const usage = await limitsOf("levels");
    expect(usage).toContainEqual(expect.objectContaining({ level: "Scope", usage: 4, concurrency_limit: 4 }));
    expect(usage).toContainEqual(expect.objectContaining({ level: "Level1", l1: "a", usage: 2, concurrency_limit: 2 }));
    expect(usage).toContainEqual(expect.objectContaining({ level: "Level1", l1: "roomy", usage: 2, concurrency_limit: 3 }));
    admissionGate.leaveAll("levels");
    await done(ids);
  });

  test("shows in SQL which invocations wait for what", async () => {
    await rules({ pattern: "sql/*", limits: { concurrency: 1, rate: { limit: 1, per: "1h", burst: 50 } } });
    const ids = [await send("sql", { group: "sql", name: "first" }, { limitKey: "t1/u1" })];
    await inside("sql", 1);
    ids.push(await send("sql", { group: "sql", name: "second" }, { limitKey: "t1/u1" }));
    const [blocked] = await eventually("the second waits", async () => {
      const rows = await world.admin.query(
        "select s.id, s.num_inbox, s.status, s.head_entry_id, s.blocked_on, s.blocked_on_json from sys_scheduler s join sys_vqueue_meta m on m.id = s.id where m.scope = 'sql'",
      );
      return rows.length === 1 ? rows : undefined;
    });
    expect(blocked).toMatchObject({
      num_inbox: 1,
      status: "blocked",
      head_entry_id: ids[1],
      blocked_on: "limit-key-concurrency",
    });
    expect(JSON.parse(String(blocked?.["blocked_on_json"]))).toEqual({
      resource: "limit-key-concurrency",
      scope: "sql",
      limit_key: "t1/u1",
      blocked_level: "level1",
      blocked_rule: "sql/*",
    });
    const entries = await world.admin.query(
      `select i.id, i.status, i.scope, i.limit_key, v.stage, v.has_lock from sys_invocation i join sys_vqueues v on v.entry_id = i.id and v.id = i.vqueue_id where i.vqueue_id = '${blocked?.["id"]}' order by i.created_at`,
    );
    const common = { scope: "sql", limit_key: "t1/u1", has_lock: false };
    expect(entries).toEqual([
      { id: ids[0], status: "running", stage: "running", ...common },
      { id: ids[1], status: "pending", stage: "inbox", ...common },
    ]);
    expect(
      await world.admin.query(
        "select pattern, rate_limit, burst, scope, l1, available from sys_rate_limits where pattern = 'sql/*'",
      ),
    ).toEqual([{ pattern: "sql/*", rate_limit: 1, burst: 50, scope: "sql", l1: "t1", available: 49 }]);
    admissionGate.leaveAll("sql");
    await done(ids);
  });

  test("can be changed while work waits, and removed", async () => {
    await rules({ pattern: "change", limits: { concurrency: 1 } });
    const ids = await Promise.all(Array.from({ length: 8 }, (_, n) => send("change", { group: "change", name: `${n}` })));
    await inside("change", 1);
    await rules({ pattern: "change", limits: { concurrency: 4 } });
    await inside("change", 4);
    await rules({ pattern: "change", limits: { concurrency: 2 } });
    for (const name of [...groupOf("change").inside].slice(0, 3)) admissionGate.leave("change", name);
    await inside("change", 2); // One was left of four; one came.
    await delay(100);
    expect(groupOf("change").inside.size).toBe(2);
    await removeRules("change");
    await inside("change", 5);
    // What runs without a rule counts as soon as there is one.
    await rules({ pattern: "change", limits: { concurrency: 5 } });
    const waitingId = await send("change", { group: "change", name: "late" });
    await delay(100);
    expect(groupOf("change").inside.has("late")).toBe(false);
    admissionGate.leaveAll("change");
    await done([...ids, waitingId]);
  });

  test("leaves other scopes and unscoped calls alone", async () => {
    await rules({ pattern: "narrow", limits: { concurrency: 1 } });
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => send("narrow", { group: "narrow", name: `${n}` })));
    await inside("narrow", 1);
    for (let n = 0; n < 5; n++) {
      expect((await scoped("wide", "call", "Gate/who", null)).status).toBe(200);
      expect((await world.ingress.call(["Gate", "who"], null)).status).toBe(200);
    }
    const unscoped = await world.admin.query("select count(*) as n from sys_vqueue_meta where scope is null");
    expect(unscoped).toEqual([{ n: 0 }]);
    admissionGate.leaveAll("narrow");
    await done(ids);
  });

  test("gives the slot back while an invocation is suspended", async () => {
    await rules({ pattern: "sleepy", limits: { concurrency: 1 } });
    const nap = await scoped("sleepy", "send", "Gate/nap", { group: "sleepy", name: "napper" });
    const napper = (nap.json as { invocationId: string }).invocationId;
    await eventually("the napper is suspended", async () => (await world.admin.row(napper))?.["status"] === "suspended");
    const guard = await send("sleepy", { group: "sleepy", name: "guard" });
    await inside("sleepy", 1);
    await world.ingress.resolveAwakeable(naps.get("napper") ?? "", "morning");
    await eventually("the napper waits for its slot", async () => (await world.admin.row(napper))?.["status"] === "ready");
    await delay(100);
    expect(groupOf("sleepy").came).toEqual(["napper", "guard"]);
    admissionGate.leaveAll("sleepy");
    expect(await done([napper, guard])).toEqual(["morning", "guard"]);
    expect(groupOf("sleepy").came).toContain("napper again");
  });

  test("does not keep a waiting invocation from being cancelled or killed", async () => {
    await rules({ pattern: "mortal", limits: { concurrency: 1 } });
    const [first, second, third, fourth] = [
      await send("mortal", { group: "mortal", name: "1" }),
      await send("mortal", { group: "mortal", name: "2" }),
      await send("mortal", { group: "mortal", name: "3" }),
      await send("mortal", { group: "mortal", name: "4" }),
    ];
    await inside("mortal", 1);
    expect((await world.admin.invocation(second, "kill")).status).toBe(200);
    expect((await world.admin.invocation(third, "cancel")).status).toBe(200);
    admissionGate.leaveAll("mortal");
    await done([first, fourth]);
    expect(groupOf("mortal").came).toEqual(["1", "4"]);
    await eventually("nothing is left of the scope", async () => (await limitsOf("mortal")).length === 0);
  });
});

describe("a scoped invocation", () => {
  test("that is delayed waits for its slot only when its time has come", async () => {
    await rules({ pattern: "later", limits: { concurrency: 1 } });
    const early = await send("later", { group: "later", name: "early" });
    await inside("later", 1);
    const answer = await scoped("later", "send", "Gate/pass?delay=2s", { group: "later", name: "delayed" });
    const delayed = (answer.json as { invocationId: string }).invocationId;
    expect((await world.admin.row(delayed))?.["status"]).toBe("scheduled");
    expect(await limitsOf("later")).toMatchObject([{ usage: 1, num_waiters: 0 }]);
    await eventually("the delayed one waits", async () => (await world.admin.row(delayed))?.["status"] === "pending");
    admissionGate.leaveAll("later");
    await done([early, delayed]);
    expect(groupOf("later").came).toEqual(["early", "delayed"]);
  });

  test("that fails keeps its slot while it waits to be tried again", async () => {
    await rules({ pattern: "failing", limits: { concurrency: 1 } });
    const relayed = await scoped("failing", "send", "Gate/relay", { scope: "not one" });
    const failing = (relayed.json as { invocationId: string }).invocationId;
    await eventually("it has failed", async () => (await world.admin.row(failing))?.["last_failure_error_code"] === "RT0024");
    const next = await send("failing", { group: "failing", name: "next", ms: 0 });
    await eventually("the next waits", async () => (await waiting("failing")) === 1);
    expect((await world.admin.invocation(failing, "kill")).status).toBe(200);
    expect(await done([next])).toEqual(["next"]);
  });

  test("gives its slot back while it is paused, and needs one again", async () => {
    await rules({ pattern: "pausing", limits: { concurrency: 1 } });
    const relayed = await scoped("pausing", "send", "Gate/relay", { scope: "not one" });
    const failing = (relayed.json as { invocationId: string }).invocationId;
    await eventually("it has failed", async () => (await world.admin.row(failing))?.["last_failure_error_code"] === "RT0024");
    expect((await world.admin.invocation(failing, "pause")).status).toBe(202);
    await eventually("it is paused", async () => (await world.admin.row(failing))?.["status"] === "paused");
    const guard = await send("pausing", { group: "pausing", name: "guard" });
    await inside("pausing", 1);
    expect((await world.admin.invocation(failing, "resume")).status).toBe(200);
    await eventually("it waits for its slot", async () => (await world.admin.row(failing))?.["status"] === "ready");
    expect((await world.admin.invocation(failing, "kill")).status).toBe(200);
    admissionGate.leaveAll("pausing");
    await done([guard]);
  });

  test("stays in its scope when it is restarted as new", async () => {
    const first = await send("again", { group: "again", name: "visitor", ms: 0 }, { limitKey: "k" });
    await done([first]);
    const answer = await world.admin.invocation(first, "restart-as-new");
    expect(answer.status).toBe(200);
    const second = (answer.json as { new_invocation_id: string }).new_invocation_id;
    expect(await done([second])).toEqual(["visitor"]);
    expect(await world.admin.row(second)).toMatchObject({ scope: "again", limit_key: "k", restarted_from: first });
    expect((await world.admin.row(second))?.["vqueue_id"]).toBe((await world.admin.row(first))?.["vqueue_id"]);
  });
});

describe("a rate", () => {
  test("spaces starts evenly, after a burst", async () => {
    await rules({ pattern: "rated", limits: { rate: { limit: 20, per: "1s", burst: 5 } } });
    const ids = await Promise.all(Array.from({ length: 25 }, (_, n) => send("rated", { group: "rated", name: `${n}`, ms: 0 })));
    await done(ids);
    const { cameAtMs } = groupOf("rated");
    const tookMs = (cameAtMs.at(-1) ?? 0) - (cameAtMs[0] ?? 0);
    expect(tookMs).toBeGreaterThan(700); // Twenty intervals of 50 ms; the first may come late on a busy machine, the last not early.
    // In no 500 ms did more come than the burst and ten.
    for (const [n, at] of cameAtMs.entries()) {
      const within = cameAtMs.filter((other, index) => index >= n && other - at < 500).length;
      expect(within).toBeLessThanOrEqual(5 + 10 + 2);
    }
  });
});

describe("a crash", () => {
  test(
    "loses no limit and no waiter, however often it happens",
    async () => {
      await rules({ pattern: "crash", limits: { concurrency: 2 } }, { pattern: "crash/*", limits: { concurrency: 1 } });
      const COUNT = 40;
      const ids = await Promise.all(
        Array.from({ length: COUNT }, (_, n) => send("crash", { group: "crash", name: `${n}` }, { limitKey: `k${n % 3}` })),
      );
      for (let round = 0; round < 4; round++) {
        await inside("crash", 2);
        // Leaving frees a slot at this moment.
        for (const name of groupOf("crash").inside) admissionGate.leave("crash", name);
        await world.server.kill();
        await world.server.startAgain();
        const usage = await limitsOf("crash");
        expect(usage.length).toBeGreaterThan(0); // The others are still here.
        for (const { level, usage: used } of usage) expect(Number(used)).toBeLessThanOrEqual(level === "Scope" ? 2 : 1);
      }
      admissionGate.leaveAll("crash");
      expect(new Set(await done(ids)).size).toBe(COUNT);
      expect(groupOf("crash").mostInside).toBe(2);
      await eventually("nothing is left of the scope", async () => (await limitsOf("crash")).length === 0);
    },
    LONG_TEST_MS,
  );
});

describe("a crash of a server with rates", () => {
  test("does not refill a bucket", async () => {
    await rules({ pattern: "slow/*", limits: { rate: { limit: 2, per: "1d", burst: 2 } } });
    const ids = [];
    for (const name of ["1", "2", "3"]) ids.push(await send("slow", { group: "slow", name, ms: 0 }, { limitKey: "k" }));
    await done(ids.slice(0, 2));
    await world.server.kill();
    await world.server.startAgain();
    await eventually("the third waits", async () => (await waiting("slow")) === 1);
    const [scheduler] = await world.admin.query(
      "select s.blocked_on, s.scheduled_at from sys_scheduler s join sys_vqueue_meta m on m.id = s.id where m.scope = 'slow'",
    );
    expect(scheduler?.["blocked_on"]).toBe("limit-key-rate");
    const hours = (Date.parse(String(scheduler?.["scheduled_at"])) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(11); // Half a day each, since the start of the second.
    expect(hours).toBeLessThan(13);
    expect(groupOf("slow").came).toEqual(["1", "2"]);
    await rules({ pattern: "slow/*", limits: { rate: null } });
    await done(ids);
  });
});
