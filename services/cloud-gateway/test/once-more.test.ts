/** Retries of the gateway (cloud.md §6.5): only a connection that could not be made, and only once. */
import { createServer } from "node:http";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { TestAnswer } from "./client.js";
import { bearer, type GatewayFixture, startGateway, startRuntime, type TestRuntime } from "./fixture.js";

let fixture: GatewayFixture;
let runtime: TestRuntime;
let retries = 0;
let onRetry = (): void => undefined;
beforeEach(async () => {
  retries = 0;
  onRetry = () => undefined;
  const nothing = (): void => undefined;
  const retried = (): void => {
    retries++;
    onRetry();
  };
  const reports = { answered: nothing, abandoned: nothing, ofEnvironment: nothing, bytes: nothing };
  const silent = { ...reports, flooded: nothing, woke: nothing };
  fixture = await startGateway({ metrics: { ...silent, retried } });
  runtime = await startRuntime();
});
afterEach(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

function call(): Promise<TestAnswer> {
  const place = fixture.environment(runtime);
  const headers = bearer(fixture.tenancy.addKey(place.id, "rst:role::FullAccess"));
  return fixture.call("http/1.1", "ingress", place, { method: "POST", path: "/S/h", headers, body: "1" });
}

test("a runtime without a listener is tried twice, and then the answer is a 503", async () => {
  await runtime[Symbol.asyncDispose]();
  expect(await call()).toMatchObject({ status: 503, json: { restate_code: "PERD0503" } });
  expect(retries).toBe(1);
});

test("one that listens a moment later gets the request, once and whole", async () => {
  const { port } = new URL(runtime.origin);
  await runtime[Symbol.asyncDispose]();
  const bodies: string[] = [];
  const slowServer = createServer(async (req, res) => {
    bodies.push(Buffer.concat(await req.toArray()).toString());
    res.end();
  });
  onRetry = () => slowServer.listen(Number(port)); // Without a host it listens at once.
  const { status } = await call();
  slowServer.closeAllConnections();
  await new Promise((resolve) => slowServer.close(resolve));
  expect([status, bodies, retries]).toEqual([200, ["1"], 1]);
});

test("a request that broke off without an answer may have taken effect, and is not sent again", async () => {
  runtime.script = (req) => req.socket.destroy();
  expect(await call()).toMatchObject({ status: 502, json: { restate_code: "PERD0502" } });
  expect([runtime.started, retries]).toEqual([1, 0]);
});
