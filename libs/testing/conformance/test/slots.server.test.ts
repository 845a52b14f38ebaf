/** Handlers that wait do not keep others from running: more of them than there are slots, by the published SDK. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Context, service } from "@restatedev/restate-sdk";
import { probe, TestWorld } from "../src/index.js";

const SLOTS = 25;
/** Twice as many as there are slots. */
const CROWD = 50;
/** Invocations of a second each, which all slots are busy with for more than ten seconds. */
const BURST = 300;
/** Far below the inactivity timeout of these servers, until which a crowd would hold its slots. */
const SOON_MS = 60_000;

const child = service({ name: "SlotChild", handlers: { answer: async (_ctx: Context, n: number) => n + 1 } });
const crowd = service({
  name: "SlotCrowd",
  handlers: {
    sleeps: async (ctx: Context, ms: number) => ctx.sleep(ms),
    awaits: async (ctx: Context) => ctx.awakeable().promise,
    calls: async (ctx: Context, n: number) => ctx.serviceClient(child).answer(n),
    busy: async (_ctx: Context, ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
    works: async (ctx: Context, { name, ms }: { name: string; ms: number }) =>
      ctx.run("work", async () => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        return probe.bump(`slot:${name}`);
      }),
  },
});
const noOp = service({ name: "SlotNoOp", handlers: { run: async () => "done" } });

describe.each([6, 7])("a server with few slots, and handlers on protocol %i", (version) => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await TestWorld.start({
      settings: {
        "worker.invoker.concurrent-invocations-limit": SLOTS,
        "worker.invoker.max-protocol-version": version,
        // So that nothing but the pressure on slots makes handlers suspend.
        "worker.invoker.inactivity-timeout": "1h",
      },
    });
    await world.deploy({ services: [crowd, child, noOp] });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function noOpMs(): Promise<number> {
    const startedAt = performance.now();
    await world.ingress.result(["SlotNoOp", "run"]);
    return performance.now() - startedAt;
  }

  test.each([
    ["sleep", "sleeps", 3_600_000],
    ["wait for an awakeable", "awaits", undefined],
  ] as const)("a call does not wait for handlers that %s", async (_title, handlerName, argument) => {
    const sent = await Promise.all(Array.from({ length: CROWD }, () => world.ingress.send(["SlotCrowd", handlerName], argument)));
    expect(await noOpMs()).toBeLessThan(SOON_MS);
    await Promise.all(sent.map(({ invocationId }) => world.admin.invocation(invocationId, "kill")));
  });

  test("callers that wait for their callees leave them slots, and a call of another service gets one meanwhile", async () => {
    const startedAt = performance.now();
    const calls = Array.from({ length: CROWD }, (_, n) => world.ingress.result<number>(["SlotCrowd", "calls"], n));
    expect(await noOpMs()).toBeLessThan(SOON_MS);
    expect(await Promise.all(calls)).toEqual(Array.from({ length: CROWD }, (_, n) => n + 1));
    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  });

  test("steps that take long run once, whatever waits for their slots", async () => {
    const name = `v${version}`;
    const works = Array.from({ length: CROWD }, (_, n) =>
      world.ingress.result<number>(["SlotCrowd", "works"], { name: `${name}:${n}`, ms: 400 }),
    );
    expect(new Set(await Promise.all(works))).toEqual(new Set([1]));
  });

  test("a schedule of another service fires on time after a burst of sends that all slots are busy with", async () => {
    const send = () => world.ingress.send(["SlotCrowd", "busy"], 1_000);
    for (let sent = 0; sent < BURST; sent += 100) await Promise.all(Array.from({ length: 100 }, send));
    const schedule = { name: `after a burst ${version}`, cron: "@yearly", target: { service: "SlotNoOp", handler: "run" } };
    const { id } = (await world.admin.post("/schedules", schedule)).json as { id: string };
    const startedAt = performance.now();
    const run = (await world.admin.post(`/schedules/${id}/run`, {})).json as { invocation_id: string };
    expect(await world.ingress.outcome(run.invocation_id)).toBe("done");
    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
    const [{ waiting } = { waiting: 0 }] = await world.admin.query("SELECT count(*) AS waiting FROM sys_slot_wait");
    expect(Number(waiting)).toBeGreaterThan(SLOTS); // The burst is not over.
  });
});

test("by default, more handlers sleep than a fixed number of slots would hold, and none of them is in the way", async () => {
  await using world = await TestWorld.start({ settings: { "worker.invoker.inactivity-timeout": "1h" } });
  await world.deploy({ services: [crowd, noOp] });
  await Promise.all(Array.from({ length: 1_100 }, () => world.ingress.send(["SlotCrowd", "sleeps"], 3_600_000)));
  const startedAt = performance.now();
  await world.ingress.result(["SlotNoOp", "run"]);
  expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
});
