/** Throttled requests on a real server, with handlers of the published SDK. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, probe, TestWorld } from "../src/index.js";
import { digestService, indexObject, ranWith } from "../src/services/debounced.js";

const KEYS_MAX = 20;

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.throttle-keys-limit": String(KEYS_MAX) } });
  await world.deploy({ services: [indexObject, digestService] });
});
afterAll(() => world[Symbol.asyncDispose]());

const inputs = (key: string) => probe.list<number>(ranWith(key));
const request = (path: string, json: unknown, throttle: string, idempotencyKey: string | undefined) => {
  const headers = { "x-restate-throttle": throttle, ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }) };
  return world.ingress.http.request("POST", path, { headers, json });
};
const rebuild = (key: string, input: number, throttle: string, idempotencyKey?: string) =>
  request(`/Index/${key}/rebuild/send`, input, throttle, idempotencyKey);
const digest = (key: string, input: number, throttle: string, idempotencyKey?: string) =>
  request("/Digest/write", { key, input }, `${throttle};key=${key}`, idempotencyKey);
const sentId = ({ json }: { readonly json: unknown }): string => (json as { invocationId: string }).invocationId;

describe("a throttle", () => {
  test("runs the first sends of a period at once, refuses the others with the newest id, and runs again afterwards", async () => {
    const answers = [];
    for (let input = 1; input <= 4; input++) answers.push(await rebuild("products", input, "3s;limit=2"));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 429, 429]);
    const refused = answers[3]!;
    expect(refused.headers["x-restate-id"]).toBe(sentId(answers[1]!));
    expect(refused.json).toMatchObject({ metadata: { error_code: "RT0103", invocation_id: sentId(answers[1]!) } });
    const waitS = Number(refused.headers["retry-after"]);
    expect([waitS > 0, waitS <= 3]).toEqual([true, true]);
    await eventually("both runs", async () => inputs("products").length === 2);
    await delay(waitS * 1_000);
    const next = await rebuild("products", 5, "3s;limit=2");
    expect(await world.ingress.outcome(sentId(next))).toBe(5);
    expect(inputs("products")).toEqual([1, 2, 5]);
  });

  test("with over=join gives a call the result of the one that ran, by key", async () => {
    const answers = await Promise.all([1, 2, 3].map((input) => digest("ann", input, "1h;over=join")));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ headers }) => headers["x-restate-id"])).size).toBe(1);
    expect(new Set(answers.map(({ json }) => json)).size).toBe(1);
    expect(inputs("ann")).toHaveLength(1);
    expect((await digest("ben", 4, "1h;over=join")).json).toBe(4);
  });

  test("does not count a request that is repeated with its idempotency key, for services and objects", async () => {
    const first = await digest("cat", 1, "1h", "once");
    expect([first.status, (await digest("cat", 2, "1h", "twice")).status]).toEqual([200, 429]);
    const again = await digest("cat", 1, "1h", "once");
    expect([again.status, again.headers["x-restate-id"]]).toEqual([200, first.headers["x-restate-id"]]);
    const sent = await rebuild("once", 1, "1h", "once");
    expect(sentId(await rebuild("once", 1, "1h", "once"))).toBe(sentId(sent));
    await world.ingress.outcome(sentId(sent));
    expect([inputs("cat"), inputs("once")]).toEqual([[1], [1]]);
  });

  test("is shown by SQL, and by no table of state", async () => {
    const { headers } = await digest("night", 1, "1h;limit=5");
    const [row] = await world.admin.query(
      "SELECT service_name, handler_name, admitted, throttle_limit, ends_at, newest_id FROM sys_throttle WHERE key = 'night'",
    );
    expect(row).toMatchObject({ service_name: "Digest", handler_name: "write", admitted: 1, throttle_limit: 5 });
    expect(row?.["newest_id"]).toBe(headers["x-restate-id"]);
    expect(Date.parse(String(row?.["ends_at"])) - Date.now()).toBeGreaterThan(3_500_000);
    expect(await world.admin.query("SELECT service_name FROM state")).toEqual([]);
  });

  test("deletes the row of a key when its period is over", async () => {
    await digest("short", 1, "200ms");
    const rows = () => world.admin.query("SELECT key FROM sys_throttle WHERE key = 'short'");
    await eventually("the end of the period", async () => (await rows()).length === 0);
  });

  test("refuses ever new keys with RT0104 when a partition has its limit of them, also after kill -9", async () => {
    const send = (n: number) => rebuild("many", n, `1h;limit=9;key=key-${n}`);
    const codeOf = async (n: number) => {
      const { status, json } = await send(n);
      return status === 202 ? "runs" : (json as { metadata: { error_code: string } }).metadata.error_code;
    };
    const codes: string[] = [];
    for (let n = 0; n < 2 * KEYS_MAX; n++) codes.push(await codeOf(n));
    const stored = codes.indexOf("RT0104"); // Tests before may have keys in the same partition.
    expect([stored > 0, stored <= KEYS_MAX, new Set(codes.slice(stored))]).toEqual([true, true, new Set(["RT0104"])]);
    const rows = await world.admin.query("SELECT key FROM sys_throttle WHERE service_key = 'many'");
    expect(rows).toHaveLength(stored);
    await world.server.kill();
    await world.server.startAgain();
    expect([await codeOf(0), await codeOf(99)]).toEqual(["runs", "RT0104"]);
  });

  test("survives kill -9 of the server: the period continues, and what ran does not run again", async () => {
    const first = await rebuild("killed", 1, "1h");
    await world.ingress.outcome(sentId(first));
    await world.server.kill();
    await world.server.startAgain();
    const refused = await rebuild("killed", 2, "1h");
    expect([refused.status, refused.headers["x-restate-id"]]).toEqual([429, sentId(first)]);
    expect(inputs("killed")).toEqual([1]);
  });
});

describe("a rule of a handler", () => {
  const send = (key: string, input: number, headers: Record<string, string> = {}) =>
    world.ingress.http.request("POST", `/Index/${key}/rebuild/send`, { headers, json: input });

  test("throttles requests without a header; a header wins, and null removes the rule", async () => {
    const changed = await world.admin.patch("/services/Index", { throttle: { rebuild: "1h;limit=1" } });
    expect(changed.json).toMatchObject({ handlers: [{ name: "rebuild", throttle: "1h;limit=1" }] });
    expect([(await send("option", 1)).status, (await send("option", 2)).status]).toEqual([202, 429]);
    expect((await send("option", 3, { "x-restate-throttle": "off" })).status).toBe(202);
    expect((await send("option", 4, { "x-restate-throttle": "1h;limit=2" })).status).toBe(202);
    const debounced = await send("option", 5, { "x-restate-debounce": "50ms" });
    expect([debounced.status, await world.ingress.outcome(sentId(debounced))]).toEqual([202, 5]);

    await world.admin.patch("/services/Index", { throttle: { rebuild: null } });
    expect((await send("option", 6)).status).toBe(202);
  });

  test("debounces requests without a header; a header and a delay of the request win", async () => {
    expect((await world.admin.patch("/services/Index", { debounce: { rebuild: "1h" } })).status).toBe(200);
    const burst = [await send("burst", 1), await send("burst", 2), await send("burst", 3, { "x-restate-debounce": "10ms" })].map(
      sentId,
    );
    expect(new Set(burst).size).toBe(1);
    expect(await world.ingress.outcome(burst[0]!)).toBe(3);
    const delayed = await world.ingress.http.request("POST", "/Index/burst/rebuild/send?delay=10ms", { json: 4 });
    expect(await world.ingress.outcome(sentId(delayed))).toBe(4);
    await world.admin.patch("/services/Index", { debounce: { rebuild: null } });
    expect(inputs("burst")).toEqual([3, 4]);
  });

  test("is refused when it cannot be used", async () => {
    const refused = await world.admin.patch("/services/Index", { throttle: { rebuild: "1m;limit=0" } });
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("limit must be a whole number")]);
    expect((await world.admin.patch("/services/Index", { throttle: { nope: "1m" } })).status).toBe(400);
    const both = await world.admin.patch("/services/Index", { throttle: { rebuild: "1m" }, debounce: { rebuild: "1m" } });
    expect(both.status).toBe(400);
  });
});
