/** State survives a stop or a crash: invocations that wait, sleep, are queued, paused or completed, and deployments. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, probe, TestWorld } from "../src/index.js";
import { featureServices, mended } from "../src/services/index.js";
import { lifecycleObject, lifecycleService } from "../src/services/lifecycle.js";

const SUSPENDED_INVOCATIONS = 300;
const DOWN_MS = 300;

describe.each(["stopped", "killed"] as const)("a server that was %s and started again", (how) => {
  let world: TestWorld;
  /** Invocations from before, by what they were doing. */
  const ids: Record<string, string> = {};
  let awakeable = "";
  let deployments = "";
  const name = (what: string) => `${what} ${how}`;

  beforeAll(async () => {
    world = await TestWorld.start({
      settings: { "worker.invoker.inactivity-timeout": "100ms", "worker.cleanup-interval": "100ms" },
    });
    await world.deploy({ services: [...featureServices(""), lifecycleService, lifecycleObject] });
    const { ingress, admin } = world;
    const send = async (what: string, ...call: Parameters<typeof ingress.send>) => {
      ids[what] = (await ingress.send(...call)).invocationId;
    };
    await send("completed", ["Echo", "echo"], "kept", { idempotencyKey: "kept" });
    await send("failed", ["Echo", "fail"], { message: "kept", code: 455 }, { idempotencyKey: "kept too" });
    await ingress.attach(ids["failed"]!);
    await ingress.result(["Store", "state", "put"], { a: 1 });
    await ingress.result(["Quick", name("flow"), "run"], 4);
    await send("workflow", ["Flow", name("flow"), "run"], "in");
    await send("sleeping", ["Echo", "sleep"], 200);
    await send("far", ["Echo", "sleep"], 40 * 24 * 3_600_000);
    await send("scheduled", ["Echo", "echo"], "on time", { delay: "200ms" });
    await send("distant", ["Echo", "echo"], "much later", { delay: "40 days" });
    await send("awaiting", ["Awakeables", "wait"], name("awaiting"));
    awakeable = await eventually("the awakeable", () => probe.get<string>(`awaited:${name("awaiting")}`));
    await send("holding", ["Store", name("queue"), "hold"]);
    await eventually("the lock", () => probe.get(`held::${name("queue")}`));
    for (let i = 0; i < 5; i++) await send(`queued ${i}`, ["Store", name("queue"), "append"], i);
    await send("backing off", ["Life", "backsOff"], name("back-off"));
    await eventually("its first attempt", () => probe.list(`backsOff:${name("back-off")}`).length > 0);
    await send("paused", ["Locked", name("paused"), "failing"], name("paused"));
    await eventually("its attempt", () => probe.count(`lockedFailing:${name("paused")}`) === 1);
    await eventually("the pause", async () => (await admin.invocation(ids["paused"]!, "pause")).status === 200);
    await send("calling", ["Root", name("calling"), "start"], "awakeable");
    await eventually("the leaf", () => probe.get(`leaf::${name("calling")}`));
    await Promise.all(
      Array.from({ length: SUSPENDED_INVOCATIONS }, async (_, i) =>
        send(`suspended ${i}`, ["Echo", "sleep"], 150 + (i % 50) * 4),
      ),
    );
    deployments = (await admin.get("/deployments")).text;

    if (how === "killed") await world.server.kill();
    else expect(await world.server.stop()).toEqual({ code: 0, signal: null });
    await delay(DOWN_MS);
    await world.server.startAgain();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test("gives the results it had", async () => {
    expect(await world.ingress.result(["Echo", "echo"], "other", { idempotencyKey: "kept" })).toBe("kept");
    expect((await world.ingress.output(ids["failed"]!)).status).toBe(455);
    expect(
      (await world.ingress.http.request("GET", `/restate/workflow/Quick/${encodeURIComponent(name("flow"))}/output`)).json,
    ).toMatchObject({ doubled: 8 });
    expect(await world.ingress.result(["Store", "state", "get"], "a")).toBe(1);
  });

  test("has its deployments", async () => {
    expect((await world.admin.get("/deployments")).text).toBe(deployments);
    expect((await world.admin.get("/services/Echo")).json).toMatchObject({ revision: 1 });
  });

  test("has resumed the invocations that were due meanwhile, and no others", async () => {
    expect(await world.ingress.outcome(ids["sleeping"]!)).toBe("slept");
    expect(await world.ingress.outcome(ids["scheduled"]!)).toBe("on time");
    const suspendedIds = Object.entries(ids).filter(([what]) => what.startsWith("suspended "));
    expect(new Set(await Promise.all(suspendedIds.map(([, id]) => world.ingress.outcome(id))))).toEqual(new Set(["slept"]));
    for (const what of ["far", "distant", "awaiting", "workflow"])
      expect((await world.ingress.output(ids[what]!)).status).toBe(470);
  });

  test("continues waiting invocations in their order", async () => {
    await world.ingress.resolveAwakeable(awakeable, "back");
    expect(await world.ingress.outcome(ids["awaiting"]!)).toEqual({ value: "back" });
    await world.ingress.result(["Flow", name("flow"), "resolve"], "out");
    expect(await world.ingress.outcome(ids["workflow"]!)).toEqual({ input: "in", value: "out" });
    await world.ingress.resolveAwakeable(probe.get<string>(`held::${name("queue")}`)!, 1);
    expect(await world.ingress.outcome(ids["holding"]!)).toEqual({ value: 1 });
    expect(await world.ingress.result(["Store", name("queue"), "append"], "end")).toEqual([0, 1, 2, 3, 4, "end"]);
  });

  test("continues trying what failed, and leaves alone what is paused", async () => {
    expect((await world.admin.invocation(ids["paused"]!, "pause")).status).toBe(200);
    expect(probe.count(`lockedFailing:${name("paused")}`)).toBe(1);
    probe.put(mended(name("back-off")), true);
    expect(await world.ingress.outcome(ids["backing off"]!)).toBe("mended");
    expect(probe.count(`backsOffStep:${name("back-off")}`)).toBe(1);
    probe.put(mended(name("paused")), true);
    await world.admin.invocation(ids["paused"]!, "resume");
    expect(await world.ingress.outcome(ids["paused"]!)).toBe("mended");
  });

  test("can cancel and kill what it started before", async () => {
    await world.admin.invocation(ids["calling"]!, "cancel");
    expect(await world.ingress.outcome(ids["calling"]!)).toBe("cancelled 409");
    expect((await world.admin.invocation(ids["distant"]!, "cancel")).status).toBe(200);
    expect((await world.ingress.output(ids["distant"]!)).status).toBe(404);
    expect((await world.admin.invocation(ids["far"]!, "kill")).status).toBe(200);
    expect((await world.ingress.output(ids["far"]!)).status).toBe(409);
  });
});
