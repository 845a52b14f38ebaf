/** Answers of tenancy are cached for as long as allowed, and no longer (cloud.md §4.4, §4.5). Time is virtual. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { EnvironmentFacts } from "@perdure/cloud";
import { VirtualClock } from "@perdure/testkit";
import { bearer, type GatewayFixture, startGateway, startRuntime, type TestRuntime } from "./fixture.js";

let runtime: TestRuntime;
let clock: VirtualClock;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
beforeAll(async () => {
  runtime = await startRuntime();
});
afterAll(async () => await runtime[Symbol.asyncDispose]());
beforeEach(async () => {
  clock = new VirtualClock();
  fixture = await startGateway({ clock });
  facts = fixture.environment(runtime);
});
afterEach(async () => await fixture[Symbol.asyncDispose]());

const statusOf = async (credential: string, place = facts): Promise<number> =>
  (await fixture.call("http/1.1", "ingress", place, { path: "/S/h", headers: bearer(credential) })).status;

/** Revokes without a change event, as if it were lost. */
function revokeSilently(credential: string): void {
  const { notify } = fixture.tenancy;
  fixture.tenancy.notify = () => undefined;
  fixture.tenancy.revoke(credential);
  fixture.tenancy.notify = notify;
}

test("a credential is looked up once, for any number of requests, concurrent ones included", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  expect(await Promise.all(Array.from({ length: 20 }, () => statusOf(key)))).toEqual(new Array(20).fill(200));
  for (let i = 0; i < 10; i++) expect(await statusOf(key)).toBe(200);
  expect(fixture.tenancy.callCounts).toEqual({ environment: 1, authenticate: 1 });
});

test("T14: a revoked key is refused at once when the change event arrives", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  expect(await statusOf(key)).toBe(200);
  fixture.tenancy.revoke(key);
  expect(await statusOf(key)).toBe(401);
});

test("T14: a revoked key is refused within 30 seconds when no change event arrives", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  expect(await statusOf(key)).toBe(200);
  revokeSilently(key);
  clock.advanceBy(19_000);
  expect(await statusOf(key)).toBe(200);
  clock.advanceBy(11_000);
  expect(await statusOf(key)).toBe(401);
});

test("a look-up ahead of time delays no request, and detects changes earlier", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  expect(await statusOf(key)).toBe(200);
  revokeSilently(key);
  clock.advanceBy(21_000);
  expect(await statusOf(key)).toBe(200); // This request starts the look-up.
  expect(await statusOf(key)).toBe(401);
  expect(fixture.tenancy.callCounts.authenticate).toBe(2); // The last request used the result of that look-up.
});

test("after a gap in the change events everything is looked up again", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  expect(await statusOf(key)).toBe(200);
  revokeSilently(key);
  fixture.tenancy.notify({ kind: "everything" });
  expect(await statusOf(key)).toBe(401);
});

test("an answer that a change event overtakes is used once and not kept", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  const { authenticate } = fixture.tenancy;
  let answer: () => void = () => undefined;
  fixture.tenancy.authenticate = async (credential, id) => {
    const authentication = await authenticate.call(fixture.tenancy, credential, id);
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return authentication;
  };
  const response = statusOf(key);
  while (fixture.tenancy.callCounts.authenticate === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await new Promise((resolve) => setTimeout(resolve, 5));
  fixture.tenancy.revoke(key);
  answer();
  expect(await response).toBe(200); // It was valid when it was looked up.
  fixture.tenancy.authenticate = authenticate;
  expect(await statusOf(key)).toBe(401);
});

test("a key that expires is refused at that moment, although it is cached", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess", clock.nowMs() + 10_000);
  expect(await statusOf(key)).toBe(200);
  clock.advanceBy(9_999);
  expect(await statusOf(key)).toBe(200);
  clock.advanceBy(1);
  expect(await statusOf(key)).toBe(401);
  expect(fixture.tenancy.callCounts.authenticate).toBe(1);
});

test("while tenancy is unreachable, cached answers are used for five minutes, and others are a 503", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  const unseen = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  expect(await statusOf(key)).toBe(200);
  fixture.tenancy.isAway = true;
  fixture.tenancy.notify({ kind: "everything" });
  expect(await statusOf(key)).toBe(200);
  const callCount = fixture.tenancy.callCounts.authenticate;
  for (let i = 0; i < 5; i++) expect(await statusOf(key)).toBe(200);
  expect(fixture.tenancy.callCounts.authenticate).toBe(callCount); // Not with each request.
  const refused = await fixture.call("h2", "admin", facts, { path: "/services", headers: bearer(unseen) });
  expect([refused.status, refused.json["restate_code"], refused.headers["retry-after"]]).toEqual([503, "PERD0503", "2"]);
  clock.advanceBy(299_000);
  expect(await statusOf(key)).toBe(200);
  clock.advanceBy(2_000);
  expect(await statusOf(key)).toBe(503);
  fixture.tenancy.isAway = false;
  expect(await statusOf(key)).toBe(200);
});

test("an unknown credential is cached for five seconds, and a new key works at once after its change event", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  revokeSilently(key);
  expect(await statusOf(key)).toBe(401);
  expect(await statusOf(key)).toBe(401);
  expect(fixture.tenancy.callCounts.authenticate).toBe(1);
  clock.advanceBy(5_000);
  expect(await statusOf(key)).toBe(401);
  expect(fixture.tenancy.callCounts.authenticate).toBe(2);
});

test("new facts of an environment hold from the next request on", async () => {
  const key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  expect(await statusOf(key)).toBe(200);
  fixture.tenancy.put({ ...facts, status: "SUSPENDED" });
  expect(await statusOf(key)).toBe(403);
  await using other = await startRuntime((_req, res) => void res.writeHead(204).end());
  fixture.tenancy.put({ ...facts, upstream: { ingress: other.origin, admin: other.origin } });
  expect(await statusOf(key)).toBe(204);
  fixture.tenancy.remove(facts.id);
  expect(await statusOf(key)).toBe(404);
});
