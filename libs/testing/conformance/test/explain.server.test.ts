/** `explain` for every kind of waiting on a real server. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { vqueueId } from "@perdure/base";
import { eventually, probe, RawEndpoint, TestWorld } from "../src/index.js";
import { knotObject, letGo, promiseFlow, stuckService } from "../src/services/stuck.js";
import { explainClient, type Leaf, newName, type Tree } from "./explain-client.js";

let world: TestWorld;
let deployment: string;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.invoker.max-protocol-version": 7 } });
  ({ id: deployment } = await world.deploy({ services: [stuckService, knotObject, promiseFlow] }));
});
afterAll(() => world[Symbol.asyncDispose]());
const { explain, untilStatus, send } = explainClient(() => world);

/** Everything but the way out by cancellation. */
function leaves(tree: Tree | Leaf | undefined): Leaf[] {
  if (tree === undefined) return [];
  if ("of" in tree) return (tree as Tree).of.flatMap(leaves);
  return (tree as Leaf).kind === "cancellation" ? [] : [tree as Leaf];
}

describe("a suspended handler", () => {
  test("waits for a timer and has its time", async () => {
    const { waits_for, sentence, since } = await untilStatus(await send("sleeps"), "suspended");
    const [timer, ...others] = leaves(waits_for.awaiting);
    expect(others).toEqual([]);
    expect(timer).toMatchObject({ kind: "timer", name: "a long nap" });
    const firesInMs = Date.parse(String(timer?.["fires_at"])) - Date.now();
    expect(firesInMs).toBeGreaterThan(3_500_000);
    expect(firesInMs).toBeLessThanOrEqual(3_600_000);
    expect(Math.abs(Date.parse(since) - Date.now())).toBeLessThan(20_000);
    expect(sentence).toMatch(/^It has been suspended for .+ and waits for the timer 'a long nap' that fires at .+ \(in 59m/);
  });

  test("waits for an awakeable and has its id", async () => {
    const name = newName();
    const { waits_for, remedies } = await untilStatus(await send("awaits", name), "suspended");
    const id = probe.get<string>(`awaits:${name}`);
    expect(leaves(waits_for.awaiting)).toMatchObject([{ kind: "awakeable", id }]);
    expect(remedies[0]?.request).toContain(id);
    expect((await world.ingress.resolveAwakeable(String(id), "now")).status).toBe(202);
  });

  test("waits for a signal by its name", async () => {
    const { waits_for, sentence } = await untilStatus(await send("signalled"), "suspended");
    expect(leaves(waits_for.awaiting)).toMatchObject([{ kind: "signal", name: "approval" }]);
    expect(sentence).toContain("the signal 'approval', which a client or another handler must send");
  });

  test("waits for a workflow's promise", async () => {
    const { invocationId } = await world.ingress.send(["Promised", newName(), "run"]);
    const { waits_for, sentence } = await untilStatus(invocationId, "suspended");
    expect(leaves(waits_for.awaiting)).toMatchObject([{ kind: "promise", name: "paid" }]);
    expect(sentence).toContain("the workflow promise 'paid'");
  });

  test("waits for all of several, or for the first of them, by its code", async () => {
    const all = await untilStatus(await send("all"), "suspended");
    expect(
      leaves(all.waits_for.awaiting)
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(["signal", "timer"]);
    expect(all.sentence).toContain("waits for all of");
    const race = await untilStatus(await send("race"), "suspended");
    expect(
      leaves(race.waits_for.awaiting)
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(["awakeable", "timer"]);
    expect(race.sentence).toContain("waits for the first of");
  });

  test("waits for a call, which is followed down to what really blocks", async () => {
    const name = newName();
    const id = await send("calls", name);
    const explained = await eventually("the chain", async () => {
      const result = await explain(id);
      return result.chain.length === 2 && result.chain.every(({ status }) => status === "suspended") && result;
    });
    expect(leaves(explained.waits_for.awaiting)).toMatchObject([
      { kind: "call", target: "Stuck/relays", invocation: { target: "Stuck/relays", status: "suspended" } },
    ]);
    expect(explained.chain.map(({ relation, target }) => [relation, target])).toEqual([
      ["call", "Stuck/relays"],
      ["call", "Stuck/awaits"],
    ]);
    expect(explained.blocked_by).toEqual({ relation: "call", id: explained.chain[1]?.id });
    expect(explained.sentence).toContain(`The last invocation of this chain is ${explained.chain[1]?.id} (Stuck/awaits)`);
    expect(explained.sentence).toContain(String(probe.get(`awaits:${name}`)));
    expect(explained.deadlock).toBeNull();
  });
});

describe("an object's lock", () => {
  test("names its holder, and the place in the queue", async () => {
    const name = newName();
    const key = newName();
    const holder = (await world.ingress.send(["Knot", key, "hold"], name)).invocationId;
    await untilStatus(holder, "running");
    const first = (await world.ingress.send(["Knot", key, "next"], 1)).invocationId;
    const second = (await world.ingress.send(["Knot", key, "next"], 2)).invocationId;
    const explained = await untilStatus(second, "pending");
    expect(explained.waits_for).toMatchObject({
      kind: "object_lock",
      service: "Knot",
      key,
      holder: { id: holder, target: `Knot/${key}/hold`, status: "running" },
      place: 2,
      place_is_least: false,
    });
    expect(explained.sentence).toContain(
      `the lock of the object Knot/${key}, which ${holder} holds. 1 invocation is ahead of it in the queue.`,
    );
    expect(explained.sentence).toContain(`The last invocation of this chain is ${holder}`);
    expect((await explain(first)).waits_for).toMatchObject({ place: 1 });
    expect(explained.chain).toMatchObject([{ relation: "lock_holder", id: holder, status: "running" }]);
    probe.put(letGo(name), true);
    await world.ingress.outcome(second);
  });

  test("has the reason when its queue is paused, with and without a holder", async () => {
    const [name, key] = [newName(), newName()];
    const holder = (await world.ingress.send(["Knot", key, "hold"], name)).invocationId;
    await untilStatus(holder, "running");
    const id = (await world.ingress.send(["Knot", key, "next"], 1)).invocationId;
    const resumption = `/vqueues/${vqueueId({ service: "Knot", scope: undefined, limitKey: undefined, lockKey: key })}`;
    expect((await world.admin.post(`${resumption}/pause`, undefined)).status).toBe(202);
    const held = await eventually("its pause", async () => {
      const result = await explain(id);
      return result.waits_for["queue_is_paused"] === true && result;
    });
    expect(held.waits_for).toMatchObject({ kind: "object_lock", holder: { id: holder } });
    expect(held.remedies[0]?.request).toBe(`POST ${resumption}/resume`);
    probe.put(letGo(name), true);
    await world.ingress.outcome(holder);
    const left = await explain(id);
    expect(left).toMatchObject({
      status: "pending",
      waits_for: { kind: "object_lock", holder: null, queue_is_paused: true },
      chain: [],
    });
    expect(left.sentence).toContain("The queue of the object is paused");
    expect((await world.admin.post(`${resumption}/resume`, undefined)).status).toBe(202);
    await world.ingress.outcome(id);
  });

  test("that is waited for in a circle is a deadlock, with every member named", async () => {
    const [a, b] = [newName(), newName()];
    const id = (await world.ingress.send(["Knot", a, "tie"], [b, a])).invocationId;
    const explained = await eventually("the deadlock", async () => {
      const result = await explain(id);
      return result.deadlock?.certain === true && result;
    });
    const inner = await explain(explained.deadlock?.invocations[2] ?? "");
    expect(explained.deadlock?.invocations).toHaveLength(3);
    expect(explained.deadlock?.invocations[0]).toBe(id);
    expect(inner.waits_for).toMatchObject({ kind: "object_lock", key: a, holder: { id } });
    expect(explained.sentence).toContain("This is a deadlock");
    expect(inner.deadlock?.invocations).toHaveLength(3);
    const remedy = explained.remedies[0]?.request.split(" ")[1];
    expect(remedy).toMatch(/^\/invocations\/inv_1\w+\/cancel$/);
    expect((await world.admin.patch(String(remedy), undefined)).status).toBeLessThan(300);
    expect((await world.ingress.attach(id)).status).toBe(409);
  });

  test("that a handler requests from itself is a deadlock of its own", async () => {
    const key = newName();
    const id = (await world.ingress.send(["Knot", key, "tie"], [key])).invocationId;
    const explained = await eventually("the deadlock", async () => {
      const result = await explain(id);
      return result.deadlock !== null && result;
    });
    expect(explained.deadlock?.invocations).toHaveLength(2);
    await world.admin.invocation(id, "kill");
  });
});

describe("a handler that runs", () => {
  test("is shown as running, with start, deployment and step", async () => {
    const name = newName();
    const id = await send("works", name);
    const explained = await eventually("its step", async () => {
      const result = await explain(id);
      return result.waits_for["last_step"] !== null && result;
    });
    expect(explained).toMatchObject({
      status: "running",
      waits_for: { kind: "handler", attempt: 1, deployment_id: deployment, last_step: { type: "Run", name: "grind" } },
      deployment: { id: deployment, state: "found", pinned: true },
      blocked_by: null,
    });
    expect(explained.sentence).toContain(`It has been running on ${deployment}`);
    probe.put(letGo(name), true);
    await world.ingress.outcome(id);
    expect((await explain(id)).waits_for).toMatchObject({ kind: "nothing", result: "success" });
  });

  test("has the awaited entries from the SDK, where it sends them", async () => {
    const id = await send("waitsAwake");
    const explained = await eventually("its word", async () => {
      const result = await explain(id);
      return result.waits_for.kind === "future" && result;
    });
    expect(explained.status).toBe("running");
    expect(leaves(explained.waits_for.awaiting)).toMatchObject([{ kind: "signal", name: "approval" }]);
    await world.admin.invocation(id, "kill");
  });
});

describe("an endpoint that does not answer", () => {
  test.each([
    ["nothing", "has not sent response headers yet"],
    ["headers", "has sent response headers, and the SDK no message yet"],
  ])("is explained by what it has sent: %s", async (sent, sentence) => {
    await using endpoint = await RawEndpoint.start({
      scripts: { [`Silent-${sent}`]: (attempt) => void (sent === "headers" && attempt.open()) },
    });
    await world.admin.register({ uri: endpoint.url });
    const { invocationId } = await world.ingress.send([`Silent-${sent}`, "run"]);
    const explained = await eventually(`what ${sent} sent`, async () => {
      const result = await explain(invocationId);
      return result.waits_for["endpoint_answer"] === sent && result;
    });
    expect(explained).toMatchObject({ status: "running", sentence: expect.stringContaining(sentence) });
    await world.admin.invocation(invocationId, "kill");
  });
});

describe("attempts that fail", () => {
  test("wait for the next one: when, why, and how many are left", async () => {
    const id = await send("fails");
    const explained = await eventually("the next attempt's time", async () => {
      const result = await explain(id);
      return result.waits_for["next_at"] !== null && result.status === "backing-off" && result;
    });
    expect(explained.waits_for).toMatchObject({
      kind: "retry",
      attempts: 1,
      attempts_left: 4,
      on_exhausted: "pause",
      failure: { restate_code: "RT0007", doc: "perdure errors RT0007", code: 500, message: expect.stringContaining("on fire") },
    });
    expect(Date.parse(String(explained.waits_for["next_at"])) - Date.now()).toBeGreaterThan(3_000_000);
    expect(explained.sentence).toMatch(/^Attempt 1 failed with RT0007 \[500\] "the printer is on fire"; the next one starts at /);
    expect(explained.remedies[0]?.request).toBe(`PATCH /invocations/${id}/resume`);
    await world.admin.invocation(id, "kill");
  });

  test("pause by their policy until they are resumed", async () => {
    const { waits_for, sentence, remedies } = await untilStatus(await send("pauses"), "paused");
    expect(waits_for).toMatchObject({
      kind: "resume",
      paused: "after_failure",
      failure: { message: expect.stringContaining("no ink") },
    });
    expect(sentence).toContain("it continues when it is resumed");
    expect(remedies[0]?.request).toMatch(/^PATCH .*\/resume$/);
  });

  test("for a deployment that is gone say so, and how to move it", async () => {
    const services = [stuckService];
    const { id: doomed } = await world.deploy({ services });
    const id = await send("awaits", newName());
    await untilStatus(id, "suspended");
    expect((await world.admin.delete(`/deployments/${doomed}?force=true`)).status).toBe(202);
    await world.admin.invocation(id, "resume");
    const explained = await eventually("RT0011", async () => {
      const result = await explain(id);
      return result.status === "backing-off" && result;
    });
    expect(explained.deployment).toEqual({ id: doomed, state: "gone", pinned: true });
    expect(explained.waits_for).toMatchObject({ failure: { restate_code: "RT0011" } });
    expect(explained.sentence).toContain(`Its deployment ${doomed} was removed`);
    expect(explained.remedies.map(({ request }) => request)).toContain(`PATCH /invocations/${id}/resume?deployment=latest`);
    await world.admin.invocation(id, "kill");
  });
});
