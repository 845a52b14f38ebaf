import { createServer, type IncomingHttpHeaders, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { TrustedProxies } from "@perdure/cloud/trusted-proxies";
import type { TenancyPorts } from "@perdure/cloud-api";
import { createCloudApi, REQUESTS_OF_NETWORK_MAX } from "@perdure/cloud-api";
import { Metrics } from "@perdure/telemetry";
import { Router } from "express";
import { measuredApi } from "../src/metrics.js";

let server: Server;
let metrics: Metrics;
/** Answers that the test finishes later. */
let kept: ServerResponse[];
let whenAllAreIn: Promise<void>;
let whenAllAreGone: Promise<void>;

beforeEach(async () => {
  metrics = new Metrics();
  kept = [];
  const allIn = Promise.withResolvers<void>();
  const allGone = Promise.withResolvers<void>();
  whenAllAreIn = allIn.promise;
  whenAllAreGone = allGone.promise;
  let gone = 0;
  const slow = Router().get("/slow", (_req, res) => {
    res.once("close", () => {
      if (++gone === REQUESTS_OF_NETWORK_MAX) allGone.resolve();
    });
    if (kept.push(res) === REQUESTS_OF_NETWORK_MAX) allIn.resolve();
  });
  const url = "https://api.us.perdure.test";
  const ports = { addresses: { consoleUrl: url }, tokens: { issuer: url }, logger: silentLogger, clock: systemClock };
  const trustedProxies = new TrustedProxies(["127.0.0.0/8"], "x-forwarded-for");
  const options = { regions: ["us"], lambdaPrincipalArn: undefined, trustedProxies };
  const api = createCloudApi(ports as unknown as TenancyPorts, options, [slow]);
  server = createServer(measuredApi(api, metrics, systemClock));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

/** Uses a connection of its own. */
function call(
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; body: unknown }> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const req = request({ host: "127.0.0.1", port, path, headers, agent: false }, async (res) => {
      let text = "";
      for await (const chunk of res) text += String(chunk);
      resolve({ status: res.statusCode, headers: res.headers, body: text === "" ? undefined : JSON.parse(text) });
    });
    req.once("error", reject).end();
  });
}

const counted = () =>
  metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith("perdure_tenancy_api_requests_total{"));

test("T22: above the bound of open requests the answer is 429 with Retry-After and a request id, and it counts as any 4xx does", async () => {
  const inside = Array.from({ length: REQUESTS_OF_NETWORK_MAX }, () => call("/slow"));
  await whenAllAreIn;
  const refused = await call("/cloud/ListAccounts");
  expect(refused).toMatchObject({
    status: 429,
    headers: { "retry-after": "1", "content-type": "application/json" },
    body: { code: 429, restate_code: "PERD0429", message: "Too many requests at once" },
  });
  const { "x-request-id": id } = refused.headers;
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(refused.body).toMatchObject({ request_id: id });
  expect((await call("/cloud/ListAccounts")).headers["x-request-id"]).not.toBe(id);
  for (const res of kept) res.writeHead(204).end();
  await Promise.all([...inside, whenAllAreGone]);
  expect((await call("/cloud/ListAccounts")).status).toBe(405);
  expect(counted().toSorted()).toEqual([
    `perdure_tenancy_api_requests_total{code="2xx"} ${REQUESTS_OF_NETWORK_MAX}`,
    'perdure_tenancy_api_requests_total{code="4xx"} 3',
  ]);
});

test("T22: behind a trusted proxy a client uses up its own share of open requests, not that of others", async () => {
  const by = (address: string) => ({ "x-forwarded-for": `203.0.113.99, ${address}` });
  const inside = Array.from({ length: REQUESTS_OF_NETWORK_MAX }, () => call("/slow", by("203.0.113.7")));
  await whenAllAreIn;
  expect((await call("/cloud/ListAccounts", by("203.0.113.7"))).status).toBe(429);
  expect((await call("/cloud/ListAccounts", by("2001:db8::1"))).status).toBe(405);
  for (const res of kept) res.writeHead(204).end();
  await Promise.all([...inside, whenAllAreGone]);
});
