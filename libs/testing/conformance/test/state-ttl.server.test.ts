/** State with a time to live on a real server, with handlers of the published SDK; the server is killed while state waits to expire. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventually, TestWorld } from "../src/index.js";
import { sessionObject } from "../src/services/expiring.js";

/** Delay of a busy machine at the most. */
const DELAY_MS_MAX = 3_000;

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start();
  await world.deploy({ services: [sessionObject] });
  await stateOf("none"); // The first statement starts the process of statements, which takes long on a busy machine.
});
afterAll(() => world[Symbol.asyncDispose]());

const call = async (key: string, handler: string, input: unknown = null): Promise<unknown> =>
  (await world.ingress.call(["Session", key, handler], input)).json;
const setServiceTtl = (ttl: string) => world.admin.http.request("PATCH", "/services/Session", { json: { state_ttl: ttl } });
const setOwnTtl = (key: string, ttl: unknown) =>
  world.admin.http.request("PUT", "/services/Session/state-ttl", { json: { object_key: key, ttl } });
const stateOf = (key: string) =>
  world.admin.query(`SELECT key FROM state WHERE service_name = 'Session' AND service_key = '${key}'`);
const expiryOf = async (key: string) =>
  (await world.admin.query(`SELECT * FROM sys_state_expiry WHERE service_name = 'Session' AND service_key = '${key}'`))[0];
const hasNoState = async (key: string): Promise<boolean> => (await stateOf(key)).length === 0;
const expiredCount = async (): Promise<number> => {
  const text = await (await fetch(`${world.server.adminUrl}/metrics`)).text();
  return Number(/^perdure_worker_state_expired_total (\d+)$/m.exec(text)?.[1]);
};
const expiresAtMs = async (key: string): Promise<number> => Date.parse(String((await expiryOf(key))?.["expires_at"]));

describe("a time to live of a service", () => {
  beforeAll(async () => {
    const changed = await setServiceTtl("4s");
    expect([changed.status, changed.json]).toEqual([200, expect.objectContaining({ state_ttl: "4s" })]);
  });
  afterAll(() => setServiceTtl("0s"));

  test("is shown, and ends all state of an object that nothing changes", async () => {
    await call("idle", "put", { a: 1, b: 2 });
    expect(await expiryOf("idle")).toMatchObject({ ttl: expect.stringMatching(/4/), ttl_source: "service" });
    const [dueAtMs, expiredBefore] = [await expiresAtMs("idle"), await expiredCount()];
    expect(await stateOf("idle")).toHaveLength(2);
    await eventually("the state expires", () => hasNoState("idle"));
    expect(Date.now()).toBeGreaterThanOrEqual(dueAtMs);
    expect(Date.now()).toBeLessThan(dueAtMs + DELAY_MS_MAX);
    expect([await call("idle", "take"), await call("idle", "peek"), await expiryOf("idle")]).toEqual([{}, {}, undefined]);
    expect(await expiredCount()).toBe(expiredBefore + 1);
  });

  test("waits for the handler that holds the object, and is over for the next one", async () => {
    await call("held", "put", { a: 1 });
    const [held, next] = await Promise.all([call("held", "hold", 6_000), delay(200).then(() => call("held", "take"))]);
    expect(held).toEqual({ before: { a: 1 }, after: { a: 1 } });
    expect(next).toEqual({});
  });

  test("is exact over a kill of the server: state that came due meanwhile is gone, other state stays", async () => {
    await call("due", "put", { a: 1 });
    await setOwnTtl("stays", "1h");
    await call("stays", "put", { a: 1 });
    const before = await expiresAtMs("stays");
    await world.server.kill();
    await delay(4_500);
    await world.server.startAgain();
    expect(await call("due", "take")).toEqual({});
    expect(await call("stays", "take")).toEqual({ a: 1 });
    expect(await expiresAtMs("stays")).toBe(before);
    await call("after", "put", { a: 1 });
    await world.server.kill();
    await world.server.startAgain();
    await eventually("the state expires", () => hasNoState("after"));
  });
});

describe("a time to live of one object", () => {
  test("holds until the state has expired, or is removed", async () => {
    await call("own", "put", { a: 1 });
    expect((await setOwnTtl("own", "1500ms")).status).toBe(202);
    expect(await expiryOf("own")).toMatchObject({ ttl_source: "object" });
    await eventually("the state expires", () => hasNoState("own"));
    await call("own", "put", { a: 1 });
    expect(await expiryOf("own")).toBeUndefined();
    await setOwnTtl("own", "1h");
    await setOwnTtl("own", null);
    expect([await expiryOf("own"), (await stateOf("own")).length]).toEqual([undefined, 1]);
  });

  test.each([
    ["a duration that is too short", 422, { object_key: "k", ttl: "999ms" }],
    ["a duration that is too long", 422, { object_key: "k", ttl: "3651d" }],
    ["a text that is not a duration", 422, { object_key: "k", ttl: "soon" }],
    ["no duration", 422, { object_key: "k" }],
    ["a scope", 400, { object_key: "k", ttl: "1h", scope: "s" }],
  ])("is refused with %s", async (_what, status, json) => {
    expect((await world.admin.http.request("PUT", "/services/Session/state-ttl", { json })).status).toBe(status);
    expect((await setServiceTtl("999ms")).status).toBe(422);
  });
});
