/** Requests that tenancy forwards for users of the console: the address they count for, and which proofs are accepted (cloud.md §6.5). */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { EnvironmentFacts } from "@perdure/cloud";
import { FORWARDED_FOR_HEADER, FORWARDED_SECONDS_MAX, ForwardingKeys } from "@perdure/cloud/forwarding";
import { VirtualClock } from "@perdure/testkit";
import { NETWORK_LIMITS } from "../src/limits.js";
import type { Http, TestAnswer } from "./client.js";
import { bearer, type GatewayFixture, hostOf, startGateway, startRuntime, type TestRuntime, valuesOf } from "./fixture.js";

const keysOf = (byte: number): ForwardingKeys => ForwardingKeys.parse(`1 ${Buffer.alloc(32, byte).toString("base64")}`, "test");
const OURS = keysOf(1);
const [ADA, BOB] = ["203.0.113.7", "2001:db8::7"] as const;

let runtime: TestRuntime;
let clock: VirtualClock;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
beforeEach(async () => {
  runtime = await startRuntime();
  clock = new VirtualClock();
  fixture = await startGateway({ clock, options: { forwarding: OURS } });
  facts = fixture.environment(runtime);
});
afterEach(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

const signed = (address: string, keys = OURS, host = hostOf(facts)): readonly string[] => [
  FORWARDED_FOR_HEADER,
  keys.sign(address, host, clock.nowMs()),
];
const call = (headers: readonly string[], path = "/S/h", endpoint: "ingress" | "admin" = "ingress", http: Http = "http/1.1") =>
  fixture.call(http, endpoint, facts, { path, headers });
const guess = (headers: readonly string[]): Promise<TestAnswer> => call([...headers, ...bearer("key_nobodys")]);

/** Sends wrong credentials until this address gets no more answers 401. */
async function exhaust(headers: readonly string[]): Promise<void> {
  for (let n = 0; n < NETWORK_LIMITS.unauthorizedPerMinute; n++) expect((await guess(headers)).status).toBe(401);
  expect((await guess(headers)).status).toBe(429);
}

test("users behind one tenancy have limits of their own: one that guesses is refused, the others are served", async () => {
  await exhaust(signed(ADA));
  expect([(await guess(signed(BOB))).status, (await guess([])).status]).toEqual([401, 401]);
  const fresh = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  expect((await call([...signed(BOB), ...fresh])).status).toBe(200);
});

test("anonymous requests of one user leave the allowance of the others", async () => {
  const version = async (address: string) => (await call(signed(address), "/version", "admin")).status;
  for (let n = 0; n < NETWORK_LIMITS.anonymousBurst; n++) expect(await version(ADA)).toBe(200);
  expect([await version(ADA), await version(BOB)]).toEqual([429, 200]);
});

test.each<Http>(["http/1.1", "h2"])("runtimes receive the address of the browser without its proof, over %s", async (http) => {
  const key = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  await call([...signed(BOB), ...key, "x-forwarded-for", "10.0.0.1"], "/S/h", "ingress", http);
  const { rawHeaders } = runtime.requests.at(-1) ?? { rawHeaders: [] };
  expect([valuesOf(rawHeaders, "x-forwarded-for"), valuesOf(rawHeaders, FORWARDED_FOR_HEADER)]).toEqual([[BOB], []]);
});

test("T32: no other client can claim an address: other keys, hosts, old proofs, plain addresses, and gateways without keys", async () => {
  const old = signed(ADA);
  clock.advanceBy((FORWARDED_SECONDS_MAX + 1) * 1_000);
  const forwardedHeaders = [
    signed(ADA, keysOf(2)),
    signed(ADA, OURS, "other.env.us.perdure.test"),
    old,
    [FORWARDED_FOR_HEADER, ADA],
  ];
  const key = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
  for (const headers of forwardedHeaders) {
    expect((await call([...headers, ...key])).status).toBe(200);
    expect(valuesOf(runtime.requests.at(-1)?.rawHeaders ?? [], "x-forwarded-for")).toEqual(["127.0.0.1"]);
  }
  await exhaust([]);
  for (const headers of forwardedHeaders) expect((await guess(headers)).status).toBe(429);
  await using without = await startGateway({ clock });
  const place = without.environment(runtime);
  const theirs = bearer(without.tenancy.addKey(place.id, "rst:role::FullAccess"));
  await without.call("http/1.1", "ingress", place, { headers: [...signed(ADA, OURS, hostOf(place)), ...theirs] });
  expect(valuesOf(runtime.requests.at(-1)?.rawHeaders ?? [], "x-forwarded-for")).toEqual(["127.0.0.1"]);
});
