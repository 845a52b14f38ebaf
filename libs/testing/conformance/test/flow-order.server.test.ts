/** Flow control: in which order invocations continue, and paused queues. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, type IntrospectionRow, TestWorld } from "../src/index.js";
import { admissionGate, gateService } from "../src/services/admission-gate.js";
import { gate } from "./gate.js";

const LONG_TEST_MS = 90_000;

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.invoker.max-protocol-version": 7 } });
  await world.deploy({ services: [gateService] });
});
afterAll(async () => world[Symbol.asyncDispose]());

const { send, rules, inside, waiting, done } = gate(() => world);

const groupOf = (name: string) => admissionGate.group(name);

describe("order", () => {
  test("follows the priority among those that wait for the same", async () => {
    await rules({ pattern: "order", limits: { concurrency: 1 } });
    const ids = [await send("order", { group: "order", name: "guard" })];
    await inside("order", 1);
    for (const [name, priority] of [
      ["low", 5],
      ["default", undefined],
      ["high", 1],
      ["default later", 3],
      ["high later", 1],
    ] as const) {
      ids.push(await send("order", { group: "order", name, ms: 0 }, priority === undefined ? {} : { priority }));
    }
    await eventually("all wait", async () => (await waiting("order")) === 5);
    admissionGate.leave("order", "guard");
    await done(ids);
    expect(groupOf("order").came).toEqual(["guard", "high", "high later", "default", "default later", "low"]);
  });

  test("takes the default priority from the rule", async () => {
    await rules({ pattern: "ranked", limits: { concurrency: 1 } }, { pattern: "ranked/vip", priority: 1 });
    const ids = [await send("ranked", { group: "ranked", name: "guard" }, { limitKey: "vip" })];
    await inside("ranked", 1);
    ids.push(await send("ranked", { group: "ranked", name: "named", ms: 0 }, { limitKey: "vip", priority: 4 }));
    ids.push(await send("ranked", { group: "ranked", name: "unnamed", ms: 0 }, { limitKey: "vip" }));
    await eventually("both wait", async () => (await waiting("ranked")) === 2);
    admissionGate.leave("ranked", "guard");
    await done(ids);
    expect(groupOf("ranked").came).toEqual(["guard", "unnamed", "named"]);
  });

  test(
    "is fair between limit keys: thousands of one do not delay another",
    async () => {
      await rules({ pattern: "fair", limits: { concurrency: 2 } });
      const guards = [await send("fair", { group: "fair", name: "g1" }), await send("fair", { group: "fair", name: "g2" })];
      await inside("fair", 2);
      const HEAVY = 2_000;
      const heavy: string[] = [];
      for (let n = 0; n < HEAVY; n += 100) {
        const some = Array.from({ length: 100 }, (_, i) =>
          send("fair", { group: "fair", name: `h${n + i}`, ms: 1 }, { limitKey: "heavy" }),
        );
        heavy.push(...(await Promise.all(some)));
      }
      const light: string[] = [];
      for (let n = 0; n < 10; n++) light.push(await send("fair", { group: "fair", name: `l${n}`, ms: 1 }, { limitKey: "light" }));
      expect(await waiting("fair")).toBe(HEAVY + 10);
      for (const guard of ["g1", "g2"]) admissionGate.leave("fair", guard);
      await done(light);
      const heavyBefore = groupOf("fair").came.filter((name) => name.startsWith("h")).length;
      // One of the light key for each of the heavy one, plus those that ran before the count was read.
      expect(heavyBefore).toBeLessThan(200);
      expect(groupOf("fair").mostInside).toBe(2);
      await rules({ pattern: "fair", limits: { concurrency: 50 } });
      await done([...guards, ...heavy]);
    },
    LONG_TEST_MS,
  );

  test("gives a heavier key more of what there is", async () => {
    await rules({ pattern: "weighty", limits: { concurrency: 1 } }, { pattern: "weighty/gold", weight: 4 });
    const ids = [await send("weighty", { group: "weighty", name: "guard" })];
    await inside("weighty", 1);
    for (const limitKey of ["gold", "tin"]) {
      for (let n = 0; n < 40; n++)
        ids.push(await send("weighty", { group: "weighty", name: `${limitKey}${n}`, ms: 0 }, { limitKey }));
    }
    await eventually("all wait", async () => (await waiting("weighty")) === 80);
    admissionGate.leave("weighty", "guard");
    await done(ids);
    const gold = groupOf("weighty")
      .came.slice(1, 41)
      .filter((name) => name.startsWith("gold")).length;
    expect(gold).toBeGreaterThanOrEqual(28); // 32 of 40, were the shares exact.
    expect(gold).toBeLessThanOrEqual(36);
  });
});

describe("a paused queue", () => {
  const queueOf = async (where: string): Promise<IntrospectionRow | undefined> =>
    (await world.admin.query(`select id, queue_is_paused, num_inbox, num_running from sys_vqueue_meta where ${where}`))[0];
  const switchQueue = async (id: unknown, verb: "pause" | "resume") =>
    expect((await world.admin.post(`/vqueues/${String(id)}/${verb}`, {})).status).toBe(202);

  test("starts no further invocation until it is resumed, also without any rule", async () => {
    const ids = [await send("stop", { group: "stop", name: "before" }, { limitKey: "k" })];
    await inside("stop", 1);
    const queue = await queueOf("scope = 'stop'");
    await switchQueue(queue?.["id"], "pause");
    ids.push(await send("stop", { group: "stop", name: "after" }, { limitKey: "k" }));
    ids.push(await send("stop", { group: "stop", name: "elsewhere", ms: 0 }, { limitKey: "other" }));
    await done(ids.slice(2));
    expect(await queueOf("scope = 'stop' and limit_key = 'k'")).toMatchObject({
      queue_is_paused: true,
      num_inbox: 1,
      num_running: 1,
    });
    admissionGate.leaveAll("stop");
    await done(ids.slice(0, 1));
    await delay(100);
    expect(groupOf("stop").came).not.toContain("after");
    await switchQueue(queue?.["id"], "resume");
    expect(await done(ids)).toEqual(["before", "after", "elsewhere"]);
  });

  test("stays paused across a restart", async () => {
    const first = await send("still", { group: "still", name: "first" });
    await inside("still", 1);
    const queue = await queueOf("scope = 'still'");
    await switchQueue(queue?.["id"], "pause");
    const second = await send("still", { group: "still", name: "second" });
    await world.server.kill();
    await world.server.startAgain();
    admissionGate.leaveAll("still");
    await done([first]);
    expect(await queueOf(`id = '${String(queue?.["id"])}'`)).toMatchObject({ queue_is_paused: true, num_inbox: 1 });
    expect(groupOf("still").came).not.toContain("second");
    await switchQueue(queue?.["id"], "resume");
    await done([second]);
  });
});
