/** Forks: copies of invocations from an entry of their journal, with edited results. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { adminErrorOf, errorOf, eventually, type HttpAnswer, invocationIdOf, probe, TestWorld } from "../src/index.js";
import { forkedBeside, forkedCounter, orders, prices } from "../src/services/forks.js";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start();
  await world.deploy({ services: [orders, prices, forkedBeside, forkedCounter] });
});
afterAll(() => world[Symbol.asyncDispose]());

let names = 0;
const newName = () => `order-${++names}`;

const post = (id: string, body: object): Promise<HttpAnswer> => world.admin.post(`/invocations/${id}/fork`, body);

async function fork(id: string, body: object): Promise<string> {
  const answer = await post(id, body);
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
  return (answer.json as { new_invocation_id: string }).new_invocation_id;
}

/** Index of the step of this type, as the timeline numbers it. */
async function stepOf(id: string, type: string): Promise<number> {
  const { json } = await world.admin.get(`/invocations/${id}/timeline`);
  const step = (json as { steps: { index: number; type: string }[] }).steps.find((each) => each.type === type);
  if (step === undefined) throw new Error(`no ${type} in ${JSON.stringify(json)}`);
  return step.index;
}

async function refused(order: string): Promise<string> {
  const { invocationId } = await world.ingress.send(["ForkedOrders", "place"], order);
  expect((await world.ingress.attach(invocationId)).status).toBe(409);
  return invocationId;
}

describe("a fork of a failed invocation", () => {
  test("with an edited result continues from there: nothing that was kept happens again", async () => {
    const order = newName();
    const id = await refused(order);
    const call = await stepOf(id, "Call");
    const forked = await fork(id, { at: call, edits: [{ step: 1, value: { approved: true } }] });
    expect(await world.ingress.outcome(forked)).toBe(`${order} for ${order.length}`);
    expect([probe.count(`checks:${order}`), probe.count(`prices:${order}`), probe.count(`ships:${order}`)]).toEqual([1, 1, 1]);
    expect((await world.ingress.attach(id)).status).toBe(409);
    expect(
      await world.admin.query(`SELECT id, forked_from, forked_at_entry, edited_steps FROM sys_fork WHERE id = '${forked}'`),
    ).toEqual([{ id: forked, forked_from: id, forked_at_entry: call, edited_steps: [1] }]);
    expect(await world.admin.row(forked)).toMatchObject({ invoked_by: "restart_as_new", restarted_from: id });
    const { json } = await world.admin.get(`/invocations/${forked}/timeline`);
    expect(json).toMatchObject({ fork: { forked_from: id, forked_at_entry: call, edited_steps: [1] } });
  });

  test("with a failure in place of a call's value fails like it", async () => {
    const id = await refused(newName());
    const call = await stepOf(id, "Call");
    const forked = await fork(id, { at: call, edits: [{ step: call, failure: { code: 418, message: "no price" } }] });
    const answer = await world.ingress.attach(forked);
    expect([answer.status, errorOf(answer).message]).toEqual([418, expect.stringContaining("no price")]);
  });

  test("with another input executes its steps again", async () => {
    const [order, other] = [newName(), newName()];
    const id = await refused(order);
    const forked = await fork(id, { at: 0, edits: [{ step: 0, text: JSON.stringify(other) }] });
    expect((await world.ingress.attach(forked)).status).toBe(409);
    expect([probe.count(`checks:${order}`), probe.count(`checks:${other}`)]).toEqual([1, 1]);
  });
});

describe("a fork of a suspended invocation", () => {
  test("needs a result for what it waits for, and leaves the source waiting", async () => {
    const order = newName();
    const { invocationId: id } = await world.ingress.send(["ForkedOrders", "wait"], order);
    await eventually("the sleep", async () => (await world.admin.row(id))?.["status"] === "suspended");
    const sleep = await stepOf(id, "Sleep");
    const refusal = await post(id, { at: sleep });
    expect([refusal.status, adminErrorOf(refusal)]).toEqual([
      400,
      { message: expect.stringContaining(`entry ${sleep} (Sleep) has no result yet`), restate_code: "OPS0013" },
    ]);
    const edits = [
      { step: 1, value: "it" },
      { step: sleep, none: true },
    ];
    expect(await world.ingress.outcome(await fork(id, { at: sleep, edits }))).toBe("it and ended");
    expect((await world.admin.row(id))?.["status"]).toBe("suspended");
    await world.admin.invocation(id, "kill");
  });
});

test("a fork of an object's invocation takes the lock, and changes the state", async () => {
  const key = newName();
  const id = invocationIdOf(await world.ingress.call(["ForkedCounter", key, "add"], 5));
  // Both executions read the state: the source found nothing, the fork finds what the source wrote.
  expect(await world.ingress.outcome(await fork(id, { at: 0 }))).toBe(10);
  expect(await world.ingress.result(["ForkedCounter", key, "add"], 1)).toBe(11);
});

describe("a fork in a sandbox", () => {
  interface SandboxAnswer {
    readonly outcome: {
      readonly kind: string;
      readonly value: { readonly text: string } | null;
      readonly message: string | null;
    };
    readonly unsent: readonly unknown[];
  }
  const sandbox = async (id: string, body: object): Promise<SandboxAnswer> => {
    const answer = await world.admin.post(`/invocations/${id}/fork-in-sandbox`, body);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.json as SandboxAnswer;
  };
  const FORKS = 100;

  test("100 times does what its source did, and nothing leaves it", async () => {
    const order = newName();
    const answer = await world.ingress.call(["ForkedCounter", order, "tour"], order);
    const id = invocationIdOf(answer);
    await eventually("what it sent", () => probe.count(`prices:sent by ${order}`) === 1);
    const counts = () => [probe.count(`prices:${order}`), probe.count(`prices:sent by ${order}`)];
    const rows = () =>
      world.admin.query(
        "SELECT (SELECT count(*) FROM sys_invocation) AS invocations, (SELECT count(*) FROM sys_journal) AS entries, (SELECT max(value_utf8) FROM state WHERE service_key LIKE '%" +
          order +
          "') AS state, (SELECT count(*) FROM sys_fork) AS forks",
      );
    const before = [counts(), await rows()];
    for (let n = 0; n < FORKS; n++) {
      const { outcome, unsent } = await sandbox(id, { at: 0 });
      expect([outcome.kind, outcome.value?.text]).toEqual(["success", answer.text]);
      expect(unsent).toEqual([
        { kind: "call", target: "ForkedPrices/of", answered_by: "journal" },
        { kind: "send", target: "ForkedPrices/of", answered_by: null },
        { kind: "call", target: `ForkedBeside/beside ${order}/add`, answered_by: "journal" },
      ]);
    }
    expect([counts(), await rows()]).toEqual(before);
    // The steps of the handler itself are executed, in its own process.
    expect(probe.count(`discounts:${order}`)).toBe(1 + FORKS);
  });

  test("an edited result changes what follows, and a call that the source did not make needs a stub", async () => {
    const order = newName();
    const id = invocationIdOf(await world.ingress.call(["ForkedOrders", "branch"], order));
    const edited = { at: 1, edits: [{ step: 1, value: true }] };
    const { outcome } = await sandbox(id, edited);
    expect(outcome).toMatchObject({
      kind: "failure",
      restate_code: "RT0102",
      message: expect.stringContaining("call of ForkedPrices/of"),
    });
    const stubs = [{ service: "ForkedPrices", handler: "of", value: 7 }];
    expect((await sandbox(id, { ...edited, stubs })).outcome).toMatchObject({ kind: "success", value: { text: "7" } });
    const failing = [{ service: "ForkedPrices", handler: "of", failure: { code: 418, message: "none" } }];
    expect((await sandbox(id, { ...edited, stubs: failing })).outcome).toMatchObject({ kind: "failure", code: 418 });
    expect(probe.count(`prices:${order}`)).toBe(0);
  });

  test("sleeps end at once, or last until the time of the sandbox is over", async () => {
    const order = newName();
    const { invocationId: id } = await world.ingress.send(["ForkedOrders", "wait"], order);
    await eventually("the step", async () => Number((await world.admin.row(id))?.["journal_size"]) >= 3);
    expect((await sandbox(id, { at: 1 })).outcome).toMatchObject({
      kind: "success",
      value: { text: `"${order} began and ended"` },
    });
    const kept = await sandbox(id, { at: 1, keep_sleeps: true, timeout: "2s" });
    expect(kept.outcome).toMatchObject({
      kind: "failure",
      restate_code: "RT0102",
      message: expect.stringContaining("a sleep until"),
    });
    await world.admin.invocation(id, "kill");
  });
});

test("what cannot be forked is refused, with the reason", async () => {
  const id = await refused(newName());
  const status = async (body: object, of = id) => {
    const answer = await post(of, body);
    return [answer.status, (answer.json as { restate_code: string | null }).restate_code];
  };
  expect(await status({ at: 99 })).toEqual([400, "OPS0013"]);
  expect(await status({ at: 99, edits: [{ step: 1, value: 1 }] })).toEqual([400, "OPS0013"]);
  expect(await status({ at: 4, edits: [{ step: 1, none: true }] })).toEqual([422, "OPS0012"]);
  expect(await status({ at: 4, edits: [{ step: 1, value: 1, text: "1" }] })).toEqual([422, null]);
  expect(await status({ at: 4, deployment: "dp_15ChR1PDwZt22Rn2lfZrRo5" })).toEqual([400, null]);
  expect(await status({ at: 0 }, "inv_1foAirY4KKzi2OP9sQb2q2BMJDpgwnQzrx")).toEqual([404, null]);
  await world.admin.invocation(id, "purge-journal");
  expect(await status({ at: 0 })).toEqual([410, null]);
});

test("a fork that was accepted survives kill -9 of the server", async () => {
  const order = newName();
  const id = await refused(order);
  const forked = await fork(id, { at: await stepOf(id, "Call"), edits: [{ step: 1, value: { approved: true } }] });
  await world.server.kill();
  await world.server.startAgain();
  expect(await world.ingress.outcome(forked)).toBe(`${order} for ${order.length}`);
  expect(await world.admin.query(`SELECT edited_steps FROM sys_fork WHERE id = '${forked}'`)).toEqual([{ edited_steps: [1] }]);
});
