/**
 * Requests to a hibernated environment are held until it is up, for ten seconds, and in bounded number (kubernetes.md §6). Time is virtual.
 */
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { EnvironmentFacts } from "@perdure/cloud";
import { Metrics } from "@perdure/telemetry";
import { until, VirtualClock } from "@perdure/testkit";
import { HELD_PER_ENVIRONMENT_MAX, WAKE_AGAIN_MS, WAKE_HELD_MS, WAKE_POLL_MS } from "../src/limits.js";
import { gatewayMetrics } from "../src/metrics.js";
import type { Http, TestAnswer } from "./client.js";
import { bearer, type GatewayFixture, hostOf, startGateway, startRuntime, type TestRuntime } from "./fixture.js";

let runtime: TestRuntime;
let clock: VirtualClock;
let metrics: Metrics;
let fixture: GatewayFixture;
beforeAll(async () => {
  runtime = await startRuntime();
});
afterAll(async () => await runtime[Symbol.asyncDispose]());
beforeEach(async () => {
  clock = new VirtualClock();
  metrics = new Metrics();
  fixture = await startGateway({ clock, metrics: gatewayMetrics(metrics) });
});
afterEach(async () => await fixture[Symbol.asyncDispose]());

const WAKE_TIMEOUT = {
  code: 503,
  restate_code: "PERD0503",
  message: "The environment was asleep and is being started; retry in a few seconds",
};
const asleep = (): EnvironmentFacts => fixture.environment(runtime, { sleep: "asleep" });
const held = (count: number): Promise<void> =>
  until(() => fixture.gateway.stats.heldForWaking === count, `${count} requests are held`);

function wakeUp({ sleep: _, ...facts }: EnvironmentFacts): void {
  fixture.tenancy.put(facts);
}

/** In small steps, between which answers of tenancy arrive. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += WAKE_POLL_MS) {
    clock.advanceBy(WAKE_POLL_MS);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Value of a series; undefined when there is none. */
function value(series: string): number | undefined {
  const line = metrics
    .text()
    .split("\n")
    .find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

function call(http: Http, facts: EnvironmentFacts, key: string, body = '"Ann"', signal?: AbortSignal): Promise<TestAnswer> {
  const request = { method: "POST", path: "/Greeter/greet", headers: bearer(key), body };
  return fixture.call(http, "ingress", facts, signal === undefined ? request : { ...request, signal });
}

describe.each<Http>(["http/1.1", "h2"])("over %s", (http) => {
  test("a request to a hibernated environment is answered by the runtime once it is up", async () => {
    const facts = asleep();
    const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
    const answer = call(http, facts, key);
    await held(1);
    await pass(2 * WAKE_POLL_MS);
    fixture.tenancy.put({ ...facts, sleep: "waking" });
    await pass(2 * WAKE_POLL_MS);
    const requestsBefore = runtime.requests.length;
    expect(fixture.gateway.stats.heldForWaking).toBe(1);
    wakeUp(facts);
    await pass(2 * WAKE_POLL_MS);
    expect(await answer).toMatchObject({ status: 200, json: { url: "/Greeter/greet", body: '"Ann"' } });
    expect([runtime.requests.length, fixture.gateway.stats.heldForWaking]).toEqual([requestsBefore + 1, 0]);
    expect(value('perdure_gateway_wakes_total{result="awake"}')).toBe(1);
    expect(value('perdure_gateway_wake_duration_seconds_count{result="awake"}')).toBe(1);
    expect(value('perdure_gateway_wake_duration_seconds_sum{result="awake"}')).toBeGreaterThanOrEqual(0.4);
    expect(value('perdure_cloud_gateway_refusals_total{door="ingress",reason="waking"}')).toBeUndefined();
  });

  test("after ten seconds the request is refused with Retry-After", async () => {
    const facts = asleep();
    const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
    const answer = call(http, facts, key);
    await held(1);
    await pass(WAKE_HELD_MS - WAKE_POLL_MS);
    expect(fixture.gateway.stats.heldForWaking).toBe(1);
    const startedBefore = runtime.started;
    await pass(WAKE_POLL_MS);
    const { status, headers, json } = await answer;
    expect([status, headers["retry-after"], headers["x-restate-error-source"]]).toEqual([503, "5", "gateway"]);
    expect(json).toMatchObject(WAKE_TIMEOUT);
    expect([runtime.started, fixture.gateway.inFlight]).toEqual([startedBefore, 0]);
    expect(value('perdure_gateway_wakes_total{result="late"}')).toBe(1);
    expect(value('perdure_gateway_wake_duration_seconds_sum{result="late"}')).toBe(WAKE_HELD_MS / 1000);
    expect(value('perdure_cloud_gateway_refusals_total{door="ingress",reason="waking"}')).toBe(1);
    expect(value('perdure_cloud_gateway_refusals_total{door="ingress",reason="upstream"}')).toBeUndefined();
    await fixture.gateway.reportUsage();
    expect(fixture.tenancy.reports.at(-1)).toMatchObject({ environmentId: facts.id, totals: { ingressRequests: 1 } });
  });
});

test("each request waits from its own arrival, and later ones are answered when the environment is up", async () => {
  const facts = asleep();
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  const first = call("http/1.1", facts, key, "1");
  await held(1);
  await pass(WAKE_HELD_MS / 2);
  const second = call("http/1.1", facts, key, "2");
  await held(2);
  await pass(WAKE_HELD_MS / 2);
  expect((await first).status).toBe(503);
  wakeUp(facts);
  await pass(2 * WAKE_POLL_MS);
  expect(await second).toMatchObject({ status: 200, json: { body: "2" } });
  expect(value('perdure_gateway_wake_duration_seconds_sum{result="awake"}')).toBeGreaterThanOrEqual(WAKE_HELD_MS / 1000);
});

test("the held requests of an environment are bounded, and a slot is free again when its client leaves", async () => {
  const facts = asleep();
  const other = asleep();
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  const leave = new AbortController();
  const leaving = call("http/1.1", facts, key, "x", leave.signal).catch(() => "left");
  const waiting = Array.from({ length: HELD_PER_ENVIRONMENT_MAX - 1 }, () => call("http/1.1", facts, key));
  await held(HELD_PER_ENVIRONMENT_MAX);
  expect((await call("http/1.1", facts, key)).json).toMatchObject(WAKE_TIMEOUT);
  const elsewhere = call("http/1.1", other, fixture.tenancy.addKey(other.id, "rst:role::FullAccess"));
  await held(HELD_PER_ENVIRONMENT_MAX + 1);
  leave.abort();
  expect(await leaving).toBe("left");
  await held(HELD_PER_ENVIRONMENT_MAX);
  const another = call("http/1.1", facts, key);
  await held(HELD_PER_ENVIRONMENT_MAX + 1);
  wakeUp(facts);
  wakeUp(other);
  await pass(2 * WAKE_POLL_MS);
  const answers = await Promise.all([...waiting, elsewhere, another]);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

test("bodies are not read while their requests are held: no 100 Continue before the runtime is up", async () => {
  const facts = asleep();
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  const head = `POST /S/h HTTP/1.1\r\nhost: ${hostOf(facts)}\r\nauthorization: Bearer ${key}\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n`;
  let received = "";
  const socket = connect({ port: fixture.ports.ingress, host: "127.0.0.1" });
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  socket.write(head);
  await held(1);
  await pass(5 * WAKE_POLL_MS);
  expect(received).toBe("");
  wakeUp(facts);
  await pass(2 * WAKE_POLL_MS);
  await until(() => received.startsWith("HTTP/1.1 100 "), "the body is requested");
  socket.write("{}");
  await until(() => received.includes("HTTP/1.1 200 "), "it is answered");
  socket.destroy();
});

test("tenancy checks each caller on arrival, and again while the environment is asleep; not while it is waking", async () => {
  const facts = asleep();
  const keys = [1, 2].map(() => fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  const responses = keys.map((key) => call("http/1.1", facts, key));
  await held(2);
  const { callCounts } = fixture.tenancy;
  expect(callCounts.authenticate).toBe(4); // Tenancy checks each caller, which also requests the wake-up.
  const third = call("http/1.1", facts, keys[0] as string);
  await held(3);
  expect(callCounts.authenticate).toBe(4);
  await pass(WAKE_AGAIN_MS + WAKE_POLL_MS);
  expect(callCounts.authenticate).toBe(6);
  fixture.tenancy.put({ ...facts, sleep: "waking" });
  await pass(2 * WAKE_AGAIN_MS);
  expect(callCounts.authenticate).toBe(6);
  wakeUp(facts);
  await pass(2 * WAKE_POLL_MS);
  for (const answer of [...responses, third]) expect((await answer).status).toBe(200);
});

test("held requests get the state of the environment: deleted 404, suspended 403", async () => {
  const [deleted, suspended] = [asleep(), asleep()];
  const answers = [deleted, suspended].map((facts) =>
    call("http/1.1", facts, fixture.tenancy.addKey(facts.id, "rst:role::FullAccess")),
  );
  await held(2);
  fixture.tenancy.remove(deleted.id);
  wakeUp({ ...suspended, status: "SUSPENDED" });
  await pass(2 * WAKE_POLL_MS);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 403]);
  expect(value('perdure_gateway_wakes_total{result="gone"}')).toBe(1);
});

test("anonymous requests are not held, wake no environment, and get a hint about credentials", async () => {
  const facts = asleep();
  const { status, json } = await fixture.call("http/1.1", "ingress", facts, { path: "/restate/health" });
  expect([status, json["message"]]).toEqual([503, "The environment is asleep; a request with a credential wakes it"]);
  expect(fixture.tenancy.callCounts.authenticate).toBe(0);
  expect(value('perdure_cloud_gateway_refusals_total{door="ingress",reason="waking"}')).toBe(1);
});
