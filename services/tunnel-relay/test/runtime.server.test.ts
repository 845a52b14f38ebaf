/** Real servers and SDK endpoints on both sides of a relay, with Perdure's client and the official in-process client. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bareOf } from "@perdure/cloud";
import { eventually, SdkEndpoint, Server, TestAdminClient, TestIngressClient } from "@perdure/conformance";
import { until } from "@perdure/testkit";
import { service } from "@restatedev/restate-sdk";
import { connectTunnel, type TunnelConnection } from "@restatedev/restate-sdk-tunnel";
import { aTenant, aWorld, type OwnClient, ownClient, PUBLIC_PROXY, type Tenant, type World } from "./fixture.js";
import { aWire } from "./wire.js";

const folder = mkdtempSync(join(tmpdir(), "perdure-tunnels-"));

/** Runs of handlers, by the endpoint that ran them. */
const ran: string[] = [];
/** Calls of `gate` wait here. */
let gate = Promise.withResolvers<void>();

function servicesOf(who: string, name = "Greeter") {
  return [
    service({
      name,
      handlers: {
        greet: async (_ctx: unknown, to: string) => {
          ran.push(who);
          return `${who} greets ${to}`;
        },
        gate: async (ctx) => {
          ran.push(`${who} at the gate`);
          await gate.promise;
          return await ctx.run("after", () => `${who} was let through`);
        },
        nap: async (ctx) => {
          await ctx.sleep(20);
          return who;
        },
      },
    }),
  ];
}

/** A server that is the runtime of an environment. */
async function aRuntime({ proxyUrl }: Pick<World, "proxyUrl">, tenant: Tenant): Promise<Server> {
  const { facts, pem, token } = tenant;
  const file = (name: string, text: string): string => {
    const path = join(folder, `${facts.id}.${name}`);
    writeFileSync(path, text);
    return path;
  };
  return await Server.start({
    settings: {
      "cluster-name": facts.id,
      "request-identity-private-key-pem-file": file("pem", pem),
      "egress.policy": "guarded",
      "tunnels.proxy-url": proxyUrl,
      "tunnels.public-url": PUBLIC_PROXY,
      "tunnels.token-file": file("token", token),
      "worker.invoker.default-retry-policy.initial-interval": "20ms",
      "worker.invoker.default-retry-policy.max-interval": "200ms",
    },
  });
}

let world: World;
let tenant: Tenant;
let server: Server;
let admin: TestAdminClient;
let ingress: TestIngressClient;
beforeAll(async () => {
  world = await aWorld();
  tenant = world.tenant;
  server = await aRuntime(world, tenant);
  admin = new TestAdminClient(server.adminUrl);
  ingress = new TestIngressClient(server.ingressUrl);
}, 120_000);
afterAll(async () => {
  admin[Symbol.dispose]();
  ingress[Symbol.dispose]();
  for (const each of [server, world]) await each?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** An endpoint behind a tunnel of Perdure's client that accepts only requests of its environment. */
async function behindTunnel(
  who: string,
  name: string,
  where: World = world,
  serviceName = "Greeter",
): Promise<OwnClient & { endpoint: SdkEndpoint }> {
  const endpoint = await SdkEndpoint.start({ services: servicesOf(who, serviceName), identityKeys: [tenant.identity.publicKey] });
  const client = ownClient(where, tenant, { name, locals: [{ tunnelPort: 9080, host: "127.0.0.1", port: endpoint.port }] });
  await client.tunnel.ready;
  return {
    ...client,
    endpoint,
    async [Symbol.asyncDispose]() {
      await client.tunnel.close();
      await endpoint[Symbol.asyncDispose]();
    },
  };
}

function official(where: World, who: string, tunnelName: string, serviceName: string): TunnelConnection {
  return connectTunnel({
    tunnelServers: [where.tunnelUrl],
    environmentId: tenant.facts.id,
    authToken: tenant.key,
    signingPublicKey: tenant.identity.publicKey,
    tunnelName,
    gracefulShutdown: false,
    logger: () => undefined,
    services: servicesOf(who, serviceName),
  });
}

describe("Perdure's client", () => {
  test("tunnel://name:port registers and serves, with signatures that the SDK checks", async () => {
    await using _client = await behindTunnel("laptop", "ours");
    const registered = await admin.tryRegister({ uri: "tunnel://ours:9080" });
    expect([registered.status, registered.json]).toMatchObject([201, { services: [{ name: "Greeter" }] }]);
    expect(await ingress.result(["Greeter", "greet"], "Ada")).toBe("laptop greets Ada");
    expect(await ingress.result(["Greeter", "nap"])).toBe("laptop");
    expect(JSON.stringify((await admin.get("/deployments")).json)).toContain("tunnel://ours:9080/");
    // The long form is the same destination (META0004), and `force` replaces it.
    const long = `${PUBLIC_PROXY}/${bareOf(tenant.facts.id)}/ours/http/localhost/9080/`;
    const again = await admin.tryRegister({ uri: long });
    expect([again.status, again.json]).toMatchObject([409, { restate_code: "META0004" }]);
    expect((await admin.tryRegister({ uri: long, force: true })).status).toBe(200);
    expect(await ingress.result(["Greeter", "greet"], "Ada")).toBe("laptop greets Ada");
  });

  test("a service that speaks HTTP/1.1 only is served when registered so", async () => {
    const services = servicesOf("old", "Old");
    await using endpoint = await SdkEndpoint.start({ services, kind: "h1-request-response" });
    await using _client = ownClient(world, tenant, {
      name: "old",
      locals: [{ tunnelPort: 80, host: "127.0.0.1", port: endpoint.port }],
    });
    await _client.tunnel.ready;
    await admin.register({ uri: "tunnel://old:80", use_http_11: true });
    expect(await ingress.result(["Old", "greet"], "Ada")).toBe("old greets Ada");
  });

  test("an invocation of a killed client is finished through its successor", async () => {
    ran.length = 0;
    gate = Promise.withResolvers<void>();
    const first = await behindTunnel("first", "killed", world, "Killed");
    await admin.register({ uri: "tunnel://killed:9080" });
    const result = ingress.result(["Killed", "gate"]);
    await eventually("the handler runs", () => ran.includes("first at the gate"));
    first.endpoint.dropConnections();
    await first.endpoint[Symbol.asyncDispose]();
    await first.tunnel.close();
    await using _second = await behindTunnel("second", "killed", world, "Killed");
    gate.resolve();
    expect(await result).toBe("second was let through");
  });

  test("a connection that breaks during an invocation is opened again, and the invocation completes", async () => {
    ran.length = 0;
    gate = Promise.withResolvers<void>();
    await using wire = await aWire(Number(new URL(world.tunnelUrl).port));
    const byWire = { ...world, tunnelUrl: `http://127.0.0.1:${wire.port}` };
    await using client = await behindTunnel("broken", "broken", byWire, "Broken");
    await admin.register({ uri: "tunnel://broken:9080" });
    const result = ingress.result(["Broken", "gate"]);
    await eventually("the handler runs", () => ran.includes("broken at the gate"));
    const disconnected = client.next("disconnected");
    wire.cut();
    await disconnected;
    gate.resolve();
    expect(await result).toBe("broken was let through");
  });

  test("two clients share the load of one name, and no call is lost when one closes", async () => {
    ran.length = 0;
    await using _staying = await behindTunnel("staying", "shared", world, "Shared");
    const leaving = await behindTunnel("leaving", "shared", world, "Shared");
    await until(() => world.relay.stats.connections === 2);
    await admin.register({ uri: "tunnel://shared:9080" });
    const callMany = () => Promise.all(Array.from({ length: 20 }, (_, i) => ingress.result(["Shared", "greet"], `${i}`)));
    expect(await callMany()).toHaveLength(20);
    expect([...new Set(ran)].sort()).toEqual(["leaving", "staying"]);
    ran.length = 0;
    const [results] = await Promise.all([callMany(), leaving.tunnel.close()]);
    expect(results).toHaveLength(20);
    expect(await callMany()).toHaveLength(20);
    expect(ran.slice(-20)).toEqual(Array.from({ length: 20 }, () => "staying"));
    await leaving[Symbol.asyncDispose]();
  });
});

describe("the official client for processes", () => {
  test("becomes ready, and its address registers and serves", async () => {
    const client = official(world, "official", "official", "Official");
    try {
      await client.ready;
      expect(client.deploymentUrl).toBe(`${PUBLIC_PROXY}/${bareOf(tenant.facts.id)}/official/http/in-process/9080/`);
      await admin.register({ uri: client.deploymentUrl as string });
      expect(await ingress.result(["Official", "greet"], "Ada")).toBe("official greets Ada");
      await world.relay.report();
      const shown = world.tenancy.tunnels.get("r1")?.connections.find(({ name }) => name === "official");
      expect(shown?.workerId).toMatch(/./);
    } finally {
      await client.close();
    }
  });

  test.each([
    { why: "another's key", set: { authToken: "key_nobody" }, said: "unauthorized" },
    { why: "a name that is not valid", set: { tunnelName: "-x" }, said: "bad-tunnel-name" },
  ])("ends with the relay's word when it has $why", async ({ set, said }) => {
    const client = connectTunnel({
      tunnelServers: [world.tunnelUrl],
      environmentId: tenant.facts.id,
      authToken: tenant.key,
      signingPublicKey: tenant.identity.publicKey,
      tunnelName: "x",
      gracefulShutdown: false,
      logger: () => undefined,
      services: servicesOf("x"),
      ...set,
    });
    await expect(client.ready).rejects.toThrow(said);
    await client.close();
  });

  test("loses no request when it shuts down: it sends GOAWAY and finishes the requests in flight", async () => {
    const leaving = official(world, "leaving", "rolling", "Rolling");
    const staying = official(world, "staying", "rolling", "Rolling");
    await Promise.all([leaving.ready, staying.ready]);
    await until(() => world.relay.stats.connections === 2);
    await admin.register({ uri: leaving.deploymentUrl as string });
    ran.length = 0;
    gate = Promise.withResolvers<void>();
    const held = [1, 2].map(() => ingress.result(["Rolling", "gate"]));
    await eventually("both handlers run", () => ran.length === 2);
    const shutDown = leaving.shutdown();
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => ingress.result(["Rolling", "greet"], `${i}`)));
    expect(results).toHaveLength(20);
    expect(ran.slice(2)).toEqual(Array.from({ length: 20 }, () => "staying"));
    gate.resolve();
    expect(new Set(await Promise.all(held))).toEqual(new Set(["leaving was let through", "staying was let through"]));
    await shutDown;
    await staying.close();
  });
});

describe("a relay that shuts down", () => {
  test("loses no call: clients of both kinds connect to another relay", async () => {
    const going = await aWorld({ relay: "going", peers: [] }, { tenancy: world.tenancy });
    // Both clients are connected to both relays; the runtime calls the one that stays, which forwards to the other when it has no
    // connection.
    const otherRelay = await aWorld({ relay: "asked", peers: [going.proxyUrl] }, { tenancy: world.tenancy });
    const runtime = await aRuntime(otherRelay, tenant);
    using theirs = new TestAdminClient(runtime.adminUrl);
    const calls = new TestIngressClient(runtime.ingressUrl);
    try {
      await using client = await behindTunnel("moving", "moving", going, "Moving");
      await theirs.register({ uri: "tunnel://moving:9080" });
      expect(await calls.result(["Moving", "greet"], "Ada")).toBe("moving greets Ada");
      ran.length = 0;
      gate = Promise.withResolvers<void>();
      const held = calls.result(["Moving", "gate"]);
      await eventually("the handler runs", () => ran.includes("moving at the gate"));
      const draining = client.next("draining");
      const closed = going.relay.close();
      await draining;
      await using _elsewhere = await behindTunnel("elsewhere", "moving", otherRelay, "Moving");
      const results = await Promise.all(Array.from({ length: 10 }, (_, i) => calls.result(["Moving", "greet"], `${i}`)));
      expect(results).toHaveLength(10);
      gate.resolve();
      expect(await held).toMatch(/was let through/);
      await closed;
    } finally {
      calls[Symbol.dispose]();
      await runtime[Symbol.asyncDispose]();
      await otherRelay[Symbol.asyncDispose]();
      await going[Symbol.asyncDispose]();
    }
  }, 60_000);
});

describe("T7: another environment", () => {
  test("cannot register a tunnel that is not its own, in any form, and the client gets no request", async () => {
    const other = aTenant(world.tenancy);
    await using endpoint = await SdkEndpoint.start({ services: servicesOf("theirs", "Theirs") });
    await using client = ownClient(world, other, {
      name: "theirs",
      locals: [{ tunnelPort: 9080, host: "127.0.0.1", port: endpoint.port }],
    });
    await client.tunnel.ready;
    const bare = bareOf(other.facts.id);
    for (const origin of [PUBLIC_PROXY, world.proxyUrl]) {
      for (const path of [`${bare}/theirs/http/localhost/9080/`, `${bare}/theirs/_/drain-tunnel`, "", "_/held/x/y"]) {
        const refused = await admin.tryRegister({ uri: `${origin}/${path}` });
        expect([refused.status, refused.json]).toMatchObject([
          400,
          { restate_code: "META0003", message: expect.stringContaining("tunnel belongs to another environment") },
        ]);
      }
    }
    // The same name in its own environment is another tunnel, which has no client.
    const unconnected = await admin.tryRegister({ uri: "tunnel://theirs:9080" });
    expect(unconnected.json).toMatchObject({
      restate_code: "META0003",
      message: expect.stringContaining("has no connected client"),
    });
    expect(client.events.filter(({ kind }) => kind === "request" || kind === "denied")).toEqual([]);
  });
});
