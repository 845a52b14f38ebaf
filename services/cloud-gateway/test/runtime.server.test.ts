/** The gateway before a real server, with the official command line: common operations of tenants (cloud.md §8, 14, 18–19, 21–25, 28). */

import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { bareOf, type EnvironmentFacts } from "@perdure/cloud";
import { exampleEnvironment } from "@perdure/cloud/testing";
import { SdkEndpoint, Server } from "@perdure/conformance";
import { freePorts } from "@perdure/servers";
import { until } from "@perdure/testkit";
import { handlers, service } from "@restatedev/restate-sdk";
import { EnvironmentPortListeners } from "../src/index.js";
import { send } from "./client.js";
import { CommandLine } from "./command-line.js";
import { bearer, type GatewayFixture, generousLimits, hostOf, startGateway } from "./fixture.js";

const echo = service({
  name: "Echo",
  handlers: {
    headers: handlers.handler({}, async (ctx) => Object.fromEntries(ctx.request().headers)),
    wait: async (ctx) => {
      await ctx.sleep(50);
      return "awake";
    },
  },
});

let server: Server;
let endpoint: SdkEndpoint;
let fixture: GatewayFixture;
let environmentPorts: EnvironmentPortListeners;
let facts: EnvironmentFacts;
let key: string;
let ports: { readonly ingress: number; readonly admin: number };
beforeAll(async () => {
  [server, endpoint] = await Promise.all([Server.start(), SdkEndpoint.start({ services: [echo] })]);
  fixture = await startGateway();
  // Ports as on a developer's machine; freed by their previous owner a moment ago.
  ports = await freeEndpoints();
  facts = fixture.tenancy.put(
    exampleEnvironment({
      upstream: { ingress: server.ingressUrl, admin: server.adminUrl },
      limits: generousLimits,
      ingressUrl: `http://127.0.0.1:${ports.ingress}`,
      adminUrl: `http://127.0.0.1:${ports.admin}`,
    }),
  );
  key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
  environmentPorts = new EnvironmentPortListeners(fixture.gateway, fixture.tenancy, silentLogger, { host: "127.0.0.1" });
  await environmentPorts.idle;
}, 120_000);
afterAll(async () => {
  for (const each of [environmentPorts, fixture, endpoint, server]) await each?.[Symbol.asyncDispose]();
});

async function freeEndpoints(): Promise<{ readonly ingress: number; readonly admin: number }> {
  const [ingress, admin] = (await freePorts(2)) as [number, number];
  return { ingress, admin };
}

/**
 * A proxy with the host names and ports that environments have in the cloud, for a program that calls an environment by name: a machine
 * has neither those names nor, for sure, those ports. Requests are forwarded unchanged.
 */
async function openNames(): Promise<AsyncDisposable & { readonly url: string; readonly requestedUrls: Set<string> }> {
  const requestedUrls = new Set<string>();
  const proxy = createServer((req, res) => {
    const { host, port, pathname, search } = new URL(req.url ?? "");
    requestedUrls.add(host);
    const targetPort = fixture.ports[port === "9070" ? "admin" : "ingress"];
    const target = { host: "127.0.0.1", port: targetPort, method: req.method, path: pathname + search, headers: req.rawHeaders };
    const forwarded = request(target, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    forwarded.on("error", () => res.destroy());
    req.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requestedUrls,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      await new Promise<void>((resolve) => proxy.close(() => resolve()));
    },
  };
}

describe("the official command line", () => {
  const urls = () => ({ RESTATE_ADMIN_URL: facts.adminUrl, RESTATE_INGRESS_URL: facts.ingressUrl });

  test("with a good key everything works, from registering on", async () => {
    using cli = new CommandLine(urls());
    const registered = await cli.run(["-y", "deployments", "register", endpoint.url], key);
    expect([registered.exitCode, registered.said]).toEqual([0, expect.stringContaining("Echo")]);
    expect(await cli.run(["deployments", "list"], key)).toMatchObject({ exitCode: 0, said: expect.stringContaining("Echo") });
    expect(await cli.run(["--request-timeout", "50000", "sql", "select 1 as one"], key)).toMatchObject({
      exitCode: 0,
      said: expect.stringMatching(/ONE\s+1\s/),
    });
    const who = await cli.run(["whoami"], key);
    expect(who).toMatchObject({ exitCode: 0, said: expect.stringContaining(`http://127.0.0.1:${ports.ingress}/`) });
  }, 90_000);

  test("with a bad key it prints the gateway's code: whoami succeeds, deployments list does not", async () => {
    using cli = new CommandLine(urls());
    const who = await cli.run(["whoami"], "key_unknown.made");
    expect([who.exitCode, who.said]).toEqual([0, expect.stringContaining("401 Unauthorized")]);
    const list = await cli.run(["deployments", "list"], "key_unknown.made");
    expect([list.exitCode, list.said]).toEqual([1, expect.stringContaining("PERD0401")]);
    const ingressOnly = fixture.tenancy.addKey(facts.id, "rst:role::IngressAccess");
    expect((await cli.run(["deployments", "list"], ingressOnly)).said).toContain("PERD0403");
    expect(JSON.stringify(fixture.lines)).not.toContain("unknown.made");
  }, 60_000);

  test("with a host, its scheme and a key it finds both endpoints by the environment's name", async () => {
    await using names = await openNames();
    const place = { RESTATE_HOST: hostOf(facts), RESTATE_HOST_SCHEME: "http", http_proxy: names.url };
    using cli = new CommandLine(place);
    const who = await cli.run(["whoami"], key);
    expect(who).toMatchObject({ exitCode: 0, said: expect.stringContaining(`http://${hostOf(facts)}:8080/`) });
    expect(who.said).not.toMatch(/\b401\b|WARNING/);
    expect(await cli.run(["services", "list"], key)).toMatchObject({ exitCode: 0, said: expect.stringContaining("Echo") });
    expect(names.requestedUrls).toContain(`${hostOf(facts)}:9070`);
    const { upstream, limits } = facts;
    const other = fixture.tenancy.put(exampleEnvironment({ upstream, limits }));
    using elsewhere = new CommandLine({ ...place, RESTATE_HOST: hostOf(other) });
    const refused = await elsewhere.run(["services", "list"], key);
    expect([refused.exitCode, refused.said]).toEqual([1, expect.stringContaining("PERD0403")]);
  }, 90_000);
});

test("a handler receives the gateway's headers and neither credential nor forged headers", async () => {
  await fixture.call("http/1.1", "admin", facts, {
    method: "POST",
    path: "/deployments",
    headers: [...bearer(key), "content-type", "application/json"],
    body: JSON.stringify({ uri: endpoint.url, force: true }),
  });
  const answer = await send("h2", ports.ingress, {
    method: "POST",
    path: "/Echo/headers",
    headers: [
      ...bearer(key),
      "authorization",
      "Bearer other",
      "x-restate-jwt-v1",
      "lie",
      "x-forwarded-for",
      "10.1.2.3",
      "x-mine",
      "kept",
    ],
  });
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({ "x-forwarded-for": "127.0.0.1", "x-mine": "kept" });
  expect(answer.json["x-request-id"]).toBe(answer.headers["x-request-id"]);
  expect(Object.keys(answer.json)).not.toContain("authorization");
  expect(answer.text).not.toMatch(/lie|10\.1\.2\.3|key_/);
  const waited = await send("http/1.1", ports.ingress, { method: "POST", path: "/Echo/wait", headers: bearer(key) });
  expect([waited.status, waited.json]).toEqual([200, "awake"]);
});

test("an environment's ports are closed with it", async () => {
  const other = await freeEndpoints();
  const put = fixture.tenancy.put(
    exampleEnvironment({ ingressUrl: `http://127.0.0.1:${other.ingress}`, adminUrl: `http://127.0.0.1:${other.admin}` }),
  );
  await environmentPorts.idle;
  expect((await send("http/1.1", other.admin, { path: "/services", host: bareOf(facts.id) })).status).toBe(401);
  fixture.tenancy.remove(put.id);
  await environmentPorts.idle;
  await expect(send("http/1.1", other.admin, { path: "/services" })).rejects.toThrow(/ECONNREFUSED/);
  await until(() => fixture.gateway.inFlight === 0, "nothing is in flight");
});
