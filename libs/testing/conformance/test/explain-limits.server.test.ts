/** Explanations of invocations that limits, slots and the past hold back. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Context, service } from "@restatedev/restate-sdk";
import { eventually, probe, SdkEndpoint, TestWorld } from "../src/index.js";
import { awakeKnotObject, knotObject, letGo, promiseFlow, stuckService } from "../src/services/stuck.js";
import { type Explained, explainClient, newName } from "./explain-client.js";

const UNKNOWN = "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx";
const FOREVER = "3600s";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.invoker.max-protocol-version": 7 } });
  await world.deploy({ services: [stuckService, knotObject, promiseFlow] });
});
afterAll(() => world[Symbol.asyncDispose]());
const { explain, untilStatus, send } = explainClient(() => world);

describe("flow control", () => {
  const rules = async (...changes: readonly object[]) =>
    expect((await world.admin.http.request("PUT", "/limits/rules", { json: changes })).status).toBe(200);
  const sendScoped = async (scope: string, handler: string, argument: unknown, limitKey?: string): Promise<string> => {
    const headers = limitKey === undefined ? {} : { "x-restate-limit-key": limitKey };
    const path = `/restate/scope/${scope}/send/Stuck/${handler}`;
    const answer = await world.ingress.http.request("POST", path, { json: argument, headers });
    expect(answer.status).toBe(202);
    return (answer.json as { invocationId: string }).invocationId;
  };

  test("names the limit, its rule, how full it is, and the place in the queue", async () => {
    await rules({ pattern: "office/*", limits: { concurrency: 1 } });
    const name = newName();
    const first = await sendScoped("office", "works", name, "tenant");
    await untilStatus(first, "running");
    const second = await sendScoped("office", "quick", 2, "tenant");
    const third = await sendScoped("office", "quick", 3, "tenant");
    const explained = await untilStatus(third, "pending");
    expect(explained.waits_for).toMatchObject({
      kind: "limit",
      scope: "office",
      limit_key: "tenant",
      place: 2,
      levels: [{ name: "office/tenant", rule: "office/*", used: 1, limit: 1, waiting: 2, next_at: null, is_full: true }],
    });
    expect(explained.sentence).toContain(
      "for a slot of 'office/tenant', where 1 of 1 slots are in use (rule 'office/*') and 2 invocations wait, at position 2",
    );
    expect(explained.remedies[0]?.request).toBe("PUT /limits/rules");
    expect((await explain(second)).waits_for).toMatchObject({ place: 1 });
    probe.put(letGo(name), true);
    await world.ingress.outcome(third);
  });

  test("has the time when a rate admits the next one", async () => {
    await rules({ pattern: "drip", limits: { rate: { limit: 1, per: "1h", burst: 1 } } });
    await world.ingress.outcome(await sendScoped("drip", "quick", 1));
    const explained = await untilStatus(await sendScoped("drip", "quick", 2), "pending");
    const [level] = explained.waits_for["levels"] as readonly { readonly name: string; readonly next_at: string }[];
    expect(level).toMatchObject({ name: "drip", is_full: true });
    expect(Date.parse(String(level?.next_at)) - Date.now()).toBeGreaterThan(3_000_000);
    expect(explained.sentence).toContain("for the rate limit of 'drip' (rule 'drip')");
    await world.admin.invocation(explained.id, "kill");
  });

  test("distinguishes a resuming invocation from one that never began", async () => {
    await rules({ pattern: "wake", limits: { concurrency: 1 } });
    const [suspended, worker] = [newName(), newName()];
    const id = await sendScoped("wake", "awaits", suspended);
    await untilStatus(id, "suspended");
    const busy = await sendScoped("wake", "works", worker);
    await untilStatus(busy, "running");
    await world.ingress.resolveAwakeable(String(probe.get(`awaits:${suspended}`)), "woken");
    expect(await untilStatus(id, "ready")).toMatchObject({ waits_for: { kind: "limit", scope: "wake", limit_key: null } });
    probe.put(letGo(worker), true);
    expect(await world.ingress.outcome(id)).toBe("woken");
    const answer = await world.admin.get(`/invocations/${id}/timeline`);
    expect((answer.json as { phases: { phase: string }[] }).phases.map(({ phase }) => phase)).toContain("suspended");
  });

  test("shows a paused queue", async () => {
    await rules({ pattern: "shut", limits: { concurrency: 1 } });
    const name = newName();
    const first = await sendScoped("shut", "works", name);
    await untilStatus(first, "running");
    const second = await sendScoped("shut", "quick", 1);
    await untilStatus(second, "pending");
    const [queue] = await world.admin.query("SELECT id FROM sys_vqueue_meta WHERE scope = 'shut'");
    expect((await world.admin.post(`/vqueues/${queue?.["id"]}/pause`, undefined)).status).toBe(202);
    const explained = await eventually("its pause", async () => {
      const result = await explain(second);
      return result.waits_for.kind === "paused_queue" && result;
    });
    expect(explained.sentence).toContain("which is paused");
    expect((await world.admin.post(`/vqueues/${queue?.["id"]}/resume`, undefined)).status).toBe(202);
    probe.put(letGo(name), true);
    await world.ingress.outcome(second);
  });
});

describe("before and after", () => {
  test("a delayed start has its time", async () => {
    const { invocationId } = await world.ingress.send(["Stuck", "quick"], 1, { delay: FOREVER });
    const { status, waits_for, sentence } = await explain(invocationId);
    expect([status, waits_for.kind]).toEqual(["scheduled", "delayed_start"]);
    expect(Date.parse(String(waits_for["starts_at"])) - Date.now()).toBeGreaterThan(3_500_000);
    expect(sentence).toMatch(/^It was submitted with a delay and starts at /);
  });

  test("a failure is shown when there is no other reason", async () => {
    const id = await send("refuses");
    const { waits_for, remedies } = await untilStatus(id, "completed");
    expect(waits_for).toMatchObject({ kind: "nothing", result: "failure", failure: { code: 466, message: "never again" } });
    expect(remedies).toEqual([]);
  });

  test("unknown and malformed ids are refused in every generation of the path", async () => {
    const id = await send("quick", 1);
    await world.ingress.outcome(id);
    for (const prefix of ["", "/v2", "/v3", "/v4"]) {
      expect((await explain(id, prefix)).status).toBe("completed");
      for (const what of ["explain", "timeline"]) {
        const unknown = await world.admin.get(`${prefix}/invocations/${UNKNOWN}/${what}`);
        expect([unknown.status, unknown.json]).toEqual([
          404,
          { message: `The requested invocation '${UNKNOWN}' does not exist`, restate_code: null },
        ]);
        const bad = await world.admin.get(`${prefix}/invocations/inv_bad/${what}`);
        expect([bad.status, bad.json]).toEqual([
          400,
          { message: "The request field 'invocation_id' is invalid. Reason: unrecognized codec version", restate_code: null },
        ]);
      }
    }
    expect((await world.admin.post(`/invocations/${id}/explain`, {})).status).toBe(405);
  });
});

describe("what else may be missing", () => {
  test("a pause by request", async () => {
    const id = await send("waitsAwake");
    await untilStatus(id, "running");
    await eventually("its pause", async () => (await world.admin.invocation(id, "pause")).status === 200);
    const { waits_for, sentence } = await untilStatus(id, "paused");
    expect(waits_for).toMatchObject({ kind: "resume", paused: "on_request", failure: null });
    expect(sentence).toContain("by request");
  });

  test("any deployment for the service", async () => {
    const lonely = service({ name: "Lonely", handlers: { quick: async () => "done" } });
    const { id: gone } = await world.deploy({ services: [lonely] });
    const { invocationId } = await world.ingress.send(["Lonely", "quick"], undefined, { delay: "400ms" });
    expect((await world.admin.delete(`/deployments/${gone}?force=true`)).status).toBe(202);
    const explained = await untilStatus(invocationId, "backing-off");
    expect(explained.deployment).toEqual({ id: null, state: "no_service", pinned: false });
    expect(explained.sentence).toContain("No deployment serves it");
    expect(explained.remedies[0]?.request).toBe("POST /deployments");
  });

  test("the handler, once its deployment was replaced by one without it", async () => {
    const before = service({
      name: "Shrinking",
      handlers: { kept: async () => "kept", dropped: async (ctx: Context) => ctx.sleep(3_600_000) },
      options: { inactivityTimeout: 1 },
    });
    const after = service({ name: "Shrinking", handlers: { kept: async () => "kept" } });
    const { endpoint } = await world.deploy({ services: [before] });
    const { invocationId } = await world.ingress.send(["Shrinking", "dropped"]);
    await untilStatus(invocationId, "suspended");
    const { port } = endpoint;
    await endpoint[Symbol.asyncDispose]();
    const replacement = world.own(await SdkEndpoint.start({ services: [after], port }));
    await world.register(replacement, { force: true, breaking: true });
    await world.admin.invocation(invocationId, "resume");
    const explained = await untilStatus(invocationId, "backing-off");
    expect(explained.deployment).toMatchObject({ state: "handler_removed", pinned: true });
    expect(explained.sentence).toContain("no longer serves its handler");
  });
});

describe("a server with few slots, and SDKs that do not say what they wait for", () => {
  test("shows slots, open calls, and a likely deadlock", async () => {
    await using small = await TestWorld.start({ settings: { "worker.invoker.concurrent-invocations-limit": 1 } });
    await small.deploy({ services: [stuckService, awakeKnotObject] });
    const explainIn = async (id: string) => (await small.admin.get(`/invocations/${id}/explain`)).json as Explained;
    const name = newName();
    const busy = (await small.ingress.send(["Stuck", "works"], name)).invocationId;
    await eventually("its start", async () => (await explainIn(busy)).status === "running");
    const waiting = (await small.ingress.send(["Stuck", "quick"], 1)).invocationId;
    const explained = await explainIn(waiting);
    expect([explained.status, explained.waits_for.kind]).toEqual(["ready", "invoker_slot"]);
    expect(explained.sentence).toContain("for a slot of its worker");
    expect(await small.admin.query("SELECT id, service, is_continuation FROM sys_slot_wait")).toEqual([
      { id: waiting, service: "Stuck", is_continuation: false },
    ]);
    probe.put(letGo(name), true);
    await small.ingress.outcome(waiting);

    const awake = (await small.ingress.send(["Stuck", "waitsAwake"])).invocationId;
    await eventually("its start", async () => (await explainIn(awake)).status === "running");
    expect((await explainIn(awake)).waits_for).toMatchObject({ kind: "handler", awaiting: null });
    await small.admin.invocation(awake, "kill");

    const key = newName();
    const knot = (await small.ingress.send(["AwakeKnot", key, "tie"], [key])).invocationId;
    const circle = await eventually("the circle", async () => {
      const result = await explainIn(knot);
      return result.deadlock !== null && result;
    });
    expect(circle.status).toBe("running");
    expect(circle.deadlock).toMatchObject({ certain: false, invocations: [knot, expect.any(String)] });
    expect(circle.sentence).toContain("This is probably a deadlock");
    await small.admin.invocation(knot, "kill");
  });
});
