/** Operations on invocations, in every status. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { INVOCATION_VERBS, type InvocationVerb } from "@perdure/admin-contract";
import { adminErrorOf, errorOf, eventually, type HttpAnswer, invocationIdOf, probe, TestWorld } from "../src/index.js";
import { flowServices } from "../src/services/flows.js";
import { mended } from "../src/services/index.js";
import { BACK_OFF_MS, lifecycleObject, lifecycleService } from "../src/services/lifecycle.js";
import { storeObject } from "../src/services/store.js";

const UNKNOWN = "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.cleanup-interval": "100ms" } });
  await world.deploy({
    services: [lifecycleService, lifecycleObject, storeObject(""), flowServices("").quick, flowServices("").flow],
  });
});
afterAll(() => world[Symbol.asyncDispose]());

let names = 0;
const newName = () => `life-${++names}`;
const verb = async (id: string, name: InvocationVerb, query = "") => (await world.admin.invocation(id, name, query)).status;
const untilPaused = (id: string) => eventually("its pause", async () => (await verb(id, "pause")) === 200);
const output = async (id: string) => (await world.ingress.output(id)).status;

interface Held {
  readonly id: string;
  readonly name: string;
  /** What ends its waiting, if it waits. */
  readonly release: () => Promise<unknown>;
}

const untilStatus = (id: string, status: string) =>
  eventually(`it is ${status}`, async () => (await world.admin.row(id))?.["status"] === status);

async function waitingIn(handler: "waiting" | "suspended"): Promise<Held> {
  const name = newName();
  const { invocationId: id } = await world.ingress.send(["Life", handler], name);
  const awakeable = await eventually("the awakeable", () => probe.get<string>(`${handler}:${name}`));
  if (handler === "suspended") await untilStatus(id, "suspended"); // It suspends after a millisecond.
  return { id, name, release: () => world.ingress.resolveAwakeable(awakeable, "released") };
}

async function backingOff(): Promise<Held> {
  const name = newName();
  const { invocationId: id } = await world.ingress.send(["Life", "backsOff"], name);
  await eventually("its first attempt", () => probe.list(`backsOff:${name}`).length === 1);
  await untilStatus(id, "backing-off"); // The next attempt is far.
  return { id, name, release: async () => probe.put(mended(name), true) };
}

const nothing = async () => {};
const STATES: Readonly<Record<string, () => Promise<Held>>> = {
  running: () => waitingIn("waiting"),
  suspended: () => waitingIn("suspended"),
  "backing off": backingOff,
  async paused() {
    const held = await waitingIn("waiting");
    await world.admin.invocation(held.id, "pause");
    await untilPaused(held.id);
    return held;
  },
  async scheduled() {
    const { invocationId: id } = await world.ingress.send(["Life", "quick"], 1, { delay: "1h" });
    return { id, name: "", release: nothing };
  },
  async inboxed() {
    const name = newName();
    await world.ingress.send(["Store", name, "hold"]);
    await eventually("the lock", () => probe.get(`held::${name}`));
    const { invocationId: id } = await world.ingress.send(["Store", name, "append"], 1);
    return { id, name, release: nothing };
  },
  async completed() {
    const id = invocationIdOf(await world.ingress.call(["Life", "quick"], 1, { idempotencyKey: newName() }));
    return { id, name: "", release: nothing };
  },
};

/** What each verb answers in each state; verbs in the order of the columns. */
const ANSWERS: Readonly<Record<string, readonly number[]>> = {
  running: [202, 200, 202, 200, 409, 409, 409],
  suspended: [202, 200, 200, 200, 409, 409, 409],
  "backing off": [202, 200, 202, 200, 409, 409, 409],
  paused: [202, 200, 200, 200, 409, 409, 409],
  scheduled: [200, 200, 409, 425, 409, 409, 425],
  inboxed: [200, 200, 409, 425, 409, 409, 425],
  completed: [409, 409, 409, 409, 200, 200, 200],
};

describe("an invocation that is", () => {
  test.each(Object.entries(ANSWERS))("%s answers every verb as it should: %j", async (state, expected) => {
    const answers: number[] = [];
    for (const name of INVOCATION_VERBS) {
      const { id } = await STATES[state]!();
      const answer = await world.admin.invocation(id, name);
      answers.push(answer.status);
      if (answer.status >= 400)
        expect(adminErrorOf(answer)).toMatchObject({ message: expect.stringContaining(id), restate_code: null });
      if (state !== "completed") await world.admin.invocation(id, "kill");
    }
    expect(answers).toEqual(expected);
  });

  test("unknown or no id at all answers 404 and 400", async () => {
    for (const name of INVOCATION_VERBS) {
      expect(await verb(UNKNOWN, name)).toBe(404);
      expect(await verb("inv_nonsense", name)).toBe(400);
    }
  });
});

describe("cancelling", () => {
  test("does not shorten a back-off, and is received by the next attempt", async () => {
    const { id, name } = await backingOff();
    expect(await verb(id, "cancel")).toBe(202);
    const answer = await world.ingress.attach(id);
    expect(answer.status).toBe(409);
    const [first] = probe.list<number>(`backsOff:${name}`);
    expect(performance.now() - first!).toBeGreaterThanOrEqual(BACK_OFF_MS - 1);
  });

  test("resumes a paused invocation, whatever paused it, so that it can undo its steps", async () => {
    const { id } = await STATES["paused"]!();
    expect(await verb(id, "cancel")).toBe(202);
    expect((await world.ingress.attach(id)).status).toBe(409);

    const name = newName();
    const failing = await world.ingress.send(["Locked", name, "failing"], name);
    await untilPaused(failing.invocationId);
    probe.put(mended(name), true);
    expect(await verb(failing.invocationId, "cancel")).toBe(202);
    expect((await world.ingress.attach(failing.invocationId)).json).toBe("mended"); // It ignores the cancellation.
  });

  test("and killing before the start leave no record", async () => {
    for (const state of ["scheduled", "inboxed"]) {
      for (const name of ["cancel", "kill"] as const) {
        const { id } = await STATES[state]!();
        const waiting = world.ingress.attach(id);
        expect(await output(id)).toBe(470);
        await world.admin.invocation(id, name);
        const answer = await waiting;
        expect(answer.status).toBe(409);
        expect(errorOf(answer).message).toBe(name === "cancel" ? "canceled" : "killed");
        expect(await output(id)).toBe(404);
      }
    }
  });
});

describe("killing", () => {
  test("reaches every child: called, sent, and sent for later", async () => {
    const name = newName();
    const { invocationId } = await world.ingress.send(["Life", "parent"], name);
    const children = await eventually("the children", () => probe.get<string[]>(`children:${name}`));
    expect(children).toHaveLength(3);
    expect(await verb(invocationId, "kill")).toBe(200);
    const [called, sent, later] = children as [string, string, string];
    // A child that was sent may reach its partition a moment later.
    for (const id of [invocationId, called, sent])
      await eventually(`the end of ${id}`, async () => (await world.ingress.attach(id)).status === 409);
    await eventually("the end of the scheduled one", async () => (await output(later)) === 404);
  });

  test("lets go of the key of a paused object", async () => {
    const name = newName();
    const { invocationId } = await world.ingress.send(["Locked", name, "failing"], name);
    await eventually("its attempt", () => probe.count(`lockedFailing:${name}`) === 1);
    await untilPaused(invocationId);
    const next = await world.ingress.send(["Locked", name, "next"], "after");
    expect(await output(next.invocationId)).toBe(470);
    await world.admin.invocation(invocationId, "kill");
    expect(await world.ingress.outcome(next.invocationId)).toBe("after");
  });
});

describe("pausing", () => {
  test("keeps what happens meanwhile for the time after", async () => {
    const { id, release, name } = await STATES["paused"]!();
    await release();
    const attempts = probe.count(`waitingAttempts:${name}`);
    await delay(80);
    expect(await output(id)).toBe(470);
    expect(probe.count(`waitingAttempts:${name}`)).toBe(attempts);
    expect(await verb(id, "resume")).toBe(200);
    expect(await world.ingress.outcome(id)).toBe("released");
  });

  test("waits for a step that is under way, and keeps its result", async () => {
    const name = newName();
    const { invocationId } = await world.ingress.send(["Life", "busy"], name);
    const release = await eventually("its step", () => probe.get<() => void>(`releaseBusy:${name}`));
    expect(await verb(invocationId, "pause")).toBe(202);
    release();
    await untilPaused(invocationId);
    await world.admin.invocation(invocationId, "resume");
    expect(await world.ingress.outcome(invocationId)).toBe("done");
    expect(probe.count(`busy:${name}`)).toBe(1);
  });
});

describe("resuming", () => {
  test("one that backs off tries again now", async () => {
    const { id, name, release } = await backingOff();
    await release();
    expect(await verb(id, "resume")).toBe(200);
    expect(await world.ingress.outcome(id)).toBe("mended");
    const [first, second] = probe.list<number>(`backsOff:${name}`);
    expect(second! - first!).toBeLessThan(BACK_OFF_MS);
    expect(probe.count(`backsOffStep:${name}`)).toBe(1);
  });

  test("a suspended one costs an attempt and changes nothing", async () => {
    const { id, name, release } = await waitingIn("suspended");
    const before = probe.count(`suspendedAttempts:${name}`);
    expect(await verb(id, "resume")).toBe(200);
    await eventually("an attempt", () => probe.count(`suspendedAttempts:${name}`) > before);
    await release();
    expect(await world.ingress.outcome(id)).toBe("released");
  });

  test("onto another deployment is refused while it runs, or when there is no such deployment", async () => {
    const running = await waitingIn("waiting");
    expect(await verb(running.id, "resume", "?deployment=latest")).toBe(409);
    const paused = await STATES["paused"]!();
    expect(await verb(paused.id, "resume", "?deployment=dp_15ChR1PDwZt22Rn2lfZrRo5")).toBe(400);
    expect(await verb(paused.id, "resume", "?deployment=nonsense")).toBe(400);
    expect(await verb(paused.id, "resume", "?deployment=latest")).toBe(200);
    for (const held of [running, paused]) {
      await held.release();
      expect(await world.ingress.outcome(held.id)).toBe("released");
    }
  });
});

describe("restarting as new", () => {
  const restart = async (id: string, query = ""): Promise<string> => {
    const answer = await world.admin.invocation(id, "restart-as-new", query);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return (answer.json as { new_invocation_id: string }).new_invocation_id;
  };
  async function failed(name: string): Promise<string> {
    const { invocationId } = await world.ingress.send(["Life", "twoSteps"], name);
    expect((await world.ingress.attach(invocationId)).status).toBe(500);
    return invocationId;
  }

  test("begins again with the same input, beside the old record", async () => {
    const name = newName();
    const id = await failed(name);
    probe.put(mended(name), true);
    const again = await restart(id);
    expect(again.slice(0, 16)).toBe(id.slice(0, 16));
    expect(again).not.toBe(id);
    expect(await world.ingress.outcome(again)).toEqual([2, 2]);
    expect((await world.ingress.output(id)).status).toBe(500);
  });

  test("from an entry keeps what stands before it", async () => {
    const name = newName();
    const id = await failed(name);
    probe.put(mended(name), true);
    // Input, Run, RunCompletion, …: with the first step and its result, without the second.
    expect(await world.ingress.outcome(await restart(id, "?from=2"))).toEqual([1, 2]);
    expect(probe.count(`twoSteps1:${name}`)).toBe(1);
    const answer = await world.admin.invocation(id, "restart-as-new", "?from=99");
    expect(answer.status).toBe(400);
  });

  test("needs the journal, and is nothing for workflows", async () => {
    const id = await failed(newName());
    expect(await verb(id, "purge-journal")).toBe(200);
    expect(await verb(id, "restart-as-new")).toBe(410);
    expect((await world.ingress.output(id)).status).toBe(500);
    const run = invocationIdOf(await world.ingress.call(["Quick", newName(), "run"], 1));
    expect(await verb(run, "restart-as-new")).toBe(422);
  });
});

describe("purging", () => {
  test("deletes the record, and with a workflow's its state and promises", async () => {
    const key = newName();
    const { invocationId } = await world.ingress.send(["Flow", key, "run"], "in");
    await world.ingress.call(["Flow", key, "resolve"], "out");
    await world.ingress.outcome(invocationId);
    expect(await verb(invocationId, "purge")).toBe(200);
    expect(await output(invocationId)).toBe(404);
    expect(await verb(invocationId, "purge")).toBe(404);
    expect(await world.ingress.result(["Flow", key, "state"])).toEqual({ input: null, done: null, keys: [] });
    expect(await world.ingress.result(["Flow", key, "peek"])).toBe("nothing yet");
    expect((await world.ingress.send(["Flow", key, "run"], "again")).status).toBe("Accepted");
  });

  test("frees an idempotency key", async () => {
    const idempotencyKey = newName();
    const first = await world.ingress.call(["Life", "quick"], 1, { idempotencyKey });
    expect(await verb(invocationIdOf(first), "purge")).toBe(200);
    expect((await world.ingress.call(["Life", "quick"], 2, { idempotencyKey })).json).toBe(2);
  });
});

describe("older and batch forms of operations", () => {
  test("DELETE with a mode is always accepted", async () => {
    const remove = (id: string, query: string): Promise<HttpAnswer> => world.admin.delete(`/invocations/${id}${query}`);
    for (const mode of ["?mode=Cancel", "?mode=kill", ""]) {
      const { id } = await waitingIn("waiting");
      expect((await remove(id, mode)).status).toBe(202);
      expect((await world.ingress.attach(id)).status).toBe(409);
    }
    const { id } = await STATES["completed"]!();
    expect((await remove(id, "?mode=Purge")).status).toBe(202);
    await eventually("the purge", async () => (await output(id)) === 404);
    expect((await remove(UNKNOWN, "?mode=Kill")).status).toBe(202);
    expect((await remove(UNKNOWN, "?mode=Eat")).status).toBe(400);
  });

  test("a batch has a result for each invocation", async () => {
    const held = [await waitingIn("waiting"), await waitingIn("suspended")];
    const ids = held.map(({ id }) => id);
    const batch = async (operation: string, invocation_ids: string[]) =>
      (await world.admin.post(`/internal/invocations_batch_operations/${operation}`, { invocation_ids })).json;
    expect(await batch("kill", [...ids, UNKNOWN])).toEqual({
      succeeded: expect.arrayContaining(ids),
      failed: [{ invocation_id: UNKNOWN, error: expect.stringContaining("not found") }],
    });
    for (const id of ids) expect((await world.ingress.attach(id)).status).toBe(409);
    expect(await batch("purge", ids)).toEqual({ succeeded: expect.arrayContaining(ids), failed: [] });
    const tooMany = await world.admin.post("/internal/invocations_batch_operations/kill", {
      invocation_ids: Array(1001).fill(UNKNOWN),
    });
    expect(tooMany.status).toBe(400);
  });

  test("a suspended invocation's wait does not matter: it can be ended at any time", async () => {
    const { invocationId } = await world.ingress.send(["Life", "busy"], newName());
    expect(await verb(invocationId, "kill")).toBe(200);
    expect((await world.ingress.attach(invocationId)).status).toBe(409);
  });
});
