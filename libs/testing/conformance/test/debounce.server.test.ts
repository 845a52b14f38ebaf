/** Debounced requests on a real server, with handlers of the published SDK. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, probe, TestWorld } from "../src/index.js";
import { digestService, indexObject, ranWith } from "../src/services/debounced.js";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start();
  await world.deploy({ services: [indexObject, digestService] });
});
afterAll(() => world[Symbol.asyncDispose]());

const inputs = (key: string) => probe.list<number>(ranWith(key));
const rebuild = (key: string, input: number, debounce: string) =>
  world.ingress.send(["Index", key, "rebuild"], input, { headers: { "x-restate-debounce": debounce } });

describe("a burst of debounced sends", () => {
  test("runs once with the newest input, under the id that all of them got", async () => {
    const sent = [];
    for (let input = 1; input <= 4; input++) sent.push(await rebuild("products", input, "1h"));
    sent.push(await rebuild("products", 5, "10ms"));
    const ids = new Set(sent.map(({ invocationId }) => invocationId));
    expect(ids.size).toBe(1);
    expect(sent.map(({ status }) => status)).toEqual(Array(5).fill("Accepted"));
    const times = sent.map(({ executionTime }) => Date.parse(String(executionTime)));
    expect(times.slice(0, 4)).toEqual(times.slice(0, 4).toSorted((a, b) => a - b));
    expect(times[4]).toBeLessThan(times[0]!);
    expect(await world.ingress.outcome([...ids][0]!)).toBe(5);
    expect(inputs("products")).toEqual([5]);

    const next = await rebuild("products", 6, "100ms");
    expect(ids.has(next.invocationId)).toBe(false);
    expect(await world.ingress.outcome(next.invocationId)).toBe(6);
    expect(inputs("products")).toEqual([5, 6]);
  });

  test("starts after max although sends continue, and the rest is another burst", async () => {
    const ids = new Set<string>();
    for (let input = 1; input <= 12; input++) {
      ids.add((await rebuild("steady", input, "500ms;max=600ms")).invocationId);
      await delay(100);
    }
    expect(ids.size).toBeGreaterThan(1);
    for (const id of ids) await world.ingress.outcome(id);
    expect(inputs("steady")).toHaveLength(ids.size);
    expect(inputs("steady").at(-1)).toBe(12);
  });

  test("of calls gives each caller the outcome of the one invocation, by key", async () => {
    const call = (key: string, input: number, wait: string) =>
      world.ingress.call(["Digest", "write"], { key, input }, { headers: { "x-restate-debounce": `${wait};key=${key}` } });
    const waiting = [call("ann", 1, "1h"), call("ben", 2, "10ms")];
    await eventually(
      "the first call waits",
      async () => (await world.admin.query("SELECT id FROM sys_debounce WHERE key = 'ann'")).length === 1,
    );
    const answers = await Promise.all([...waiting, call("ann", 3, "10ms")]);
    const [first, other, second] = answers.map(({ headers }) => String(headers["x-restate-id"]));
    expect([first === second, first === other]).toEqual([true, false]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers[0]!.json).toEqual(answers[2]!.json);
    expect([inputs("ann").length, inputs("ben")]).toEqual([1, [2]]);
  });

  test("is shown by SQL and explain while it waits, and ends with a cancellation", async () => {
    const { invocationId } = await rebuild("shown", 1, "1h;key=night");
    await rebuild("shown", 2, "1h;key=night");
    const [row] = await world.admin.query(
      `SELECT i.status, d.key, d.sends, d.latest_start_at FROM sys_debounce d JOIN sys_invocation i ON i.id = d.id WHERE d.id = '${invocationId}'`,
    );
    expect(row).toMatchObject({ status: "scheduled", key: "night", sends: 2 });
    expect(Date.parse(String(row?.["latest_start_at"])) - Date.now()).toBeGreaterThan(9 * 3_600_000);
    const explained = await world.admin.get(`/invocations/${invocationId}/explain`);
    expect(explained.json).toMatchObject({
      sentence: expect.stringMatching(/It is debounced: 2 sends became it, and it starts at .* with the newest input/),
      waits_for: { kind: "delayed_start", debounce: { key: "night", sends: 2 } },
    });
    // Tables show state of services only, not the row of the key.
    expect(await world.admin.query("SELECT service_name FROM state")).toEqual([]);

    expect((await world.admin.invocation(invocationId, "cancel")).status).toBeLessThan(300);
    const next = await rebuild("shown", 3, "50ms;key=night");
    expect(next.invocationId).not.toBe(invocationId);
    expect(await world.ingress.outcome(next.invocationId)).toBe(3);
    expect(inputs("shown")).toEqual([3]);
  });

  test("survives kill -9 of the server: it keeps its newest input and its start, and runs once", async () => {
    const { invocationId } = await rebuild("killed", 1, "60s");
    await rebuild("killed", 2, "60s");
    await world.server.kill();
    await world.server.startAgain();
    expect((await rebuild("killed", 3, "300ms")).invocationId).toBe(invocationId);
    await world.server.kill();
    await world.server.startAgain();
    expect(await world.ingress.outcome(invocationId)).toBe(3);
    await eventually("the one run", async () => inputs("killed").length === 1);
    expect(inputs("killed")).toEqual([3]);
  });
});
