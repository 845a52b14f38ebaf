/** A client above its rate gets a Retry-After, and does not delay other tenants (cloud.md §6.5). Time is virtual. */
import { connect } from "node:http2";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { apiKeyText, type EnvironmentFacts, newApiKey } from "@perdure/cloud";
import { until, VirtualClock } from "@perdure/testkit";
import { FORWARDS_PER_TURN, NETWORK_LIMITS } from "../src/limits.js";
import type { TestAnswer } from "./client.js";
import { bearer, type GatewayFixture, generousLimits, hostOf, startGateway, startRuntime, type TestRuntime } from "./fixture.js";

let runtime: TestRuntime;
let clock: VirtualClock;
let fixture: GatewayFixture;
beforeAll(async () => {
  runtime = await startRuntime();
});
afterAll(async () => await runtime[Symbol.asyncDispose]());
beforeEach(async () => {
  clock = new VirtualClock();
  fixture = await startGateway({ clock });
});
afterEach(async () => await fixture[Symbol.asyncDispose]());

const limited = (perSecond: number, burst: number): EnvironmentFacts =>
  fixture.environment(runtime, {
    limits: { ...generousLimits, ingressRate: { perSecond, burst }, adminRate: { perSecond: 5, burst: 2 } },
  });

/** One after the other. */
async function times(count: number, call: () => Promise<TestAnswer>): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await call()).status);
  return statuses;
}

test("the 51st request of a burst of 50 is a 429 with Retry-After; endpoints and environments have separate rates", async () => {
  const facts = limited(20, 50);
  const key = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const call = () => fixture.call("http/1.1", "ingress", facts, { path: "/S/h", headers: key });
  expect(await times(50, call)).toEqual(new Array(50).fill(200));
  const refused = await call();
  expect(refused.status).toBe(429);
  expect(refused.headers["retry-after"]).toBe("1");
  expect(refused.headers["ratelimit-limit"]).toBe("50");
  expect(refused.headers["ratelimit-remaining"]).toBe("0");
  expect(refused.headers["ratelimit-reset"]).toBe("3");
  expect(refused.json["restate_code"]).toBe("PERD0429");
  expect((await fixture.call("h2", "admin", facts, { path: "/services", headers: key })).status).toBe(200);
  const other = limited(20, 50);
  const otherKey = bearer(fixture.tenancy.addKey(other.id, "rst:role::FullAccess"));
  expect((await fixture.call("h2", "ingress", other, { path: "/S/h", headers: otherKey })).status).toBe(200);
  clock.advanceBy(50);
  expect(await times(2, call)).toEqual([200, 429]);
  fixture.tenancy.put({ ...facts, limits: { ...facts.limits, ingressRate: { perSecond: 500, burst: 1_500 } } });
  expect((await call()).status).toBe(200); // A larger plan takes effect at once.
});

test("a key with a rate of its own is limited to it, and leaves its environment's rate to others", async () => {
  const facts = limited(20, 50);
  const call = (key: string) => () => fixture.call("http/1.1", "ingress", facts, { path: "/S/h", headers: bearer(key) });
  const narrow = call(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess", undefined, 5));
  expect(await times(6, narrow)).toEqual([200, 200, 200, 200, 200, 429]);
  const refused = await narrow();
  expect([refused.headers["retry-after"], refused.headers["ratelimit-limit"]]).toEqual(["1", "5"]);
  const wide = call(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  expect(await times(46, wide)).toEqual([...new Array<number>(45).fill(200), 429]);
  clock.advanceBy(200);
  expect(await times(2, narrow)).toEqual([200, 429]);
});

test("two gateways have half of a rate each, until their demands differ", async () => {
  await using other = await startGateway({ clock, tenancy: fixture.tenancy });
  const facts = limited(20, 50);
  const key = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const at = (one: GatewayFixture) => () => one.call("http/1.1", "ingress", facts, { path: "/S/h", headers: key });
  const sync = async () => {
    clock.advanceBy(1_000);
    for (const one of [fixture, other]) await one.gateway.shareRates();
  };
  for (let n = 0; n < 2; n++) await sync(); // The first gateway must receive the share of the second.
  expect([fixture.gateway.stats.gateways, other.gateway.stats.gateways]).toEqual([2, 2]);
  expect(await times(26, at(fixture))).toEqual([...new Array<number>(25).fill(200), 429]);
  expect(await times(26, at(other))).toEqual([...new Array<number>(25).fill(200), 429]);
  for (let second = 0; second < 3; second++) {
    await times(30, at(fixture));
    await sync();
  }
  const passed = (await times(30, at(fixture))).filter((status) => status === 200).length;
  expect(passed).toBeGreaterThanOrEqual(18); // Of 20 in this second; the other gateway, without demand, keeps a twentieth.
  fixture.tenancy.gateways.clear();
  await fixture.gateway.shareRates();
  expect(fixture.gateway.stats.gateways).toBe(1);
});

test("T15: 20 wrong credentials a minute per address are looked up, then none, for any environment", async () => {
  const facts = limited(1_000, 1_000);
  const guess = () =>
    fixture.call("http/1.1", "ingress", facts, { path: "/S/h", headers: bearer(apiKeyText(newApiKey(systemRandom))) });
  expect(await times(20, guess)).toEqual(new Array(20).fill(401));
  const lookups = fixture.tenancy.callCounts.authenticate;
  const refused = await guess();
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "3"]);
  expect(await times(70, guess)).toEqual(new Array(70).fill(429));
  expect(fixture.tenancy.callCounts.authenticate).toBe(lookups);
  const anonymous = await fixture.call("http/1.1", "ingress", facts, { path: "/S/h" });
  expect(anonymous.status).toBe(429);
  clock.advanceBy(3_000);
  expect(await times(2, guess)).toEqual([401, 429]);
});

test("T15: of ten thousand guesses few are looked up, none above the limit, and other clients are served", async () => {
  const facts = limited(1_000, 1_000);
  const good = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const call = () => fixture.call("http/1.1", "ingress", facts, { path: "/S/h", headers: good });
  expect((await call()).status).toBe(200);
  const before = fixture.tenancy.callCounts.authenticate;
  const statuses = new Map<string, number>();
  const count = (status: string): void => void statuses.set(status, (statuses.get(status) ?? 0) + 1);
  for (let round = 0; round < 40; round++) {
    // Many on a connection, as an attacker would; time advances so that refusals that wait are answered.
    const ended = guessAtOnce(250, facts, count);
    while (!(await Promise.race([ended.then(() => true), turn()]))) clock.advanceBy(250);
  }
  expect([...statuses.values()].reduce((sum, one) => sum + one, 0)).toBe(10_000);
  expect(new Set(statuses.keys())).toEqual(new Set(["401", "429"]));
  const allowed = 20 + Math.ceil((clock.monotonicMs() / 60_000) * 20);
  expect(statuses.get("401")).toBeLessThanOrEqual(allowed);
  // Those that were under way when the allowance ran out exceed it, once.
  expect(fixture.tenancy.callCounts.authenticate - before).toBeLessThanOrEqual(allowed + NETWORK_LIMITS.lookupsMax);
  expect((await call()).status).toBe(200);
}, 60_000);

const turn = (): Promise<false> => new Promise((resolve) => setImmediate(() => resolve(false)));

/** Over one HTTP/2 connection; resolves when all are answered. */
async function guessAtOnce(many: number, facts: EnvironmentFacts, count: (status: string) => void): Promise<void> {
  const session = connect(`http://127.0.0.1:${fixture.ports.ingress}`);
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const authorization = `Bearer ${apiKeyText(newApiKey(systemRandom))}`;
      const stream = session.request({ ":path": "/S/h", ":authority": hostOf(facts), authorization });
      stream.on("response", (headers) => count(String(headers[":status"])));
      stream.on("error", reject);
      stream.on("close", resolve);
      stream.resume();
    });
  await Promise.all(Array.from({ length: many }, one));
  await new Promise<void>((resolve) => session.close(resolve));
}

test("T15: a credential that is cached as valid passes from an address with many guesses", async () => {
  const facts = limited(1_000, 1_000);
  const key = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const call = () => fixture.call("http/1.1", "ingress", facts, { path: "/S/h", headers: key });
  expect((await call()).status).toBe(200);
  await times(25, () => fixture.call("http/1.1", "ingress", facts, { path: "/S/h" }));
  expect((await call()).status).toBe(200);
});

test("T15: concurrent guesses are bounded by the allowance and the look-ups under way", async () => {
  const facts = limited(1_000, 1_000);
  const statuses = await Promise.all(
    Array.from({ length: 90 }, () =>
      fixture
        .call("http/1.1", "ingress", facts, { path: "/S/h", headers: bearer(apiKeyText(newApiKey(systemRandom))) })
        .then(({ status }) => status),
    ),
  );
  expect(statuses.filter((status) => status === 401)).toHaveLength(20);
  expect(statuses.filter((status) => status === 429)).toHaveLength(70);
});

test("T20: refusals beyond the first hundred wait a second, and delay only their own connections", async () => {
  const facts = limited(1, 1);
  const key = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const call = () => fixture.call("http/1.1", "ingress", facts, { path: "/S/h", headers: key });
  await times(101, call);
  let answered = false;
  const held = call().then(({ status }) => {
    answered = true;
    return status;
  });
  await until(() => fixture.gateway.stats.heldRefusals === 1, "a refusal waits");
  const other = limited(10, 10);
  const otherKey = bearer(fixture.tenancy.addKey(other.id, "rst:role::FullAccess"));
  expect((await fixture.call("http/1.1", "ingress", other, { path: "/S/h", headers: otherKey })).status).toBe(200);
  expect(answered).toBe(false);
  clock.advanceBy(1_000);
  expect(await held).toBe(429);
});

test("T20: a request behind hundreds of a neighbour's is not forwarded after them", async () => {
  await using crowded = await startRuntime();
  let startedBefore = Number.NaN;
  await using calm = await startRuntime((_req, res) => {
    startedBefore = crowded.started;
    res.end();
  });
  const [loud, quiet] = [fixture.environment(crowded), fixture.environment(calm)];
  const keys = [loud, quiet].map(({ id }) => fixture.tenancy.addKey(id, "rst:role::FullAccess"));
  const session = connect(`http://127.0.0.1:${fixture.ports.ingress}`);
  const one = (facts: EnvironmentFacts, key: string | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ":path": "/S/h", ":authority": hostOf(facts), authorization: `Bearer ${key}` });
      stream.on("error", reject);
      stream.on("close", resolve);
      stream.resume();
    });
  const flood = (): Promise<void>[] => Array.from({ length: 249 }, () => one(loud, keys[0]));
  await Promise.all([...flood(), one(quiet, keys[1])]); // Both credentials are cached from now on, and all connections are open.
  const before = crowded.started;
  await Promise.all([...flood(), one(quiet, keys[1])]);
  session.destroy();
  expect(crowded.started - before).toBe(249);
  expect(startedBefore - before).toBeLessThan(3 * FORWARDS_PER_TURN); // In the order of arrival it would be 249.
});

test("T20: the requests of one environment that wait for an answer are bounded by its plan", async () => {
  const answers: (() => void)[] = [];
  await using slow = await startRuntime((_req, res) => void answers.push(() => res.end()));
  const facts = fixture.environment(slow, { limits: { ...generousLimits, concurrentInvocationsMax: 1 } });
  const key = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const calls = Array.from({ length: 200 }, () => fixture.call("http/1.1", "ingress", facts, { path: "/S/h", headers: key }));
  await until(() => answers.length === 200, "all reached the runtime");
  const refused = await fixture.call("http/1.1", "ingress", facts, { path: "/S/h", headers: key });
  expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
  for (const answer of answers) answer();
  expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
  await until(() => fixture.gateway.inFlight === 0, "nothing is in flight");
});

test("usage is reported as totals, at intervals and at the end, and refusals are free", async () => {
  const facts = limited(3, 3);
  const key = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const call = () => fixture.call("h2", "ingress", facts, { method: "POST", path: "/S/h", headers: key, body: "12345" });
  expect(await times(4, call)).toEqual([200, 200, 200, 429]);
  await fixture.call("http/1.1", "admin", facts, { path: "/services", headers: key });
  fixture.tenancy.isAway = true;
  clock.advanceBy(10_000);
  await fixture.gateway.reportUsage();
  expect(fixture.tenancy.reports).toEqual([]);
  fixture.tenancy.isAway = false;
  await fixture.gateway.reportUsage();
  expect(fixture.tenancy.reports).toHaveLength(1);
  const [first] = fixture.tenancy.reports;
  expect(first?.totals).toMatchObject({ ingressRequests: 3, adminRequests: 1, bytesIn: 15, tunnelBytes: 0 });
  expect(first?.totals.bytesOut).toBeGreaterThan(100);
  await fixture.gateway.reportUsage();
  expect(fixture.tenancy.reports).toHaveLength(1); // Nothing new, no report.
  clock.advanceBy(1_000);
  await call();
  await fixture.gateway.close();
  expect(fixture.tenancy.reports).toHaveLength(2);
  expect(fixture.tenancy.reports[1]).toMatchObject({ source: first?.source, totals: { ingressRequests: 4, bytesIn: 20 } });
});
