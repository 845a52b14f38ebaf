/** The tunnel client as a program in a cluster, against a relay: ready while connected, serving allowed destinations, closing in order. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ServiceProgram } from "@perdure/dev-cluster";
import { until } from "@perdure/testkit";
import { aWorld, FakeRuntime, type World } from "./fixture.js";
import { aLocal } from "./local.js";

const TEST_MS = 60_000;
const folder = mkdtempSync(join(tmpdir(), "perdure-tunnel-client-"));
let world: World;

beforeAll(async () => {
  world = await aWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function launch(settings: Readonly<Record<string, string | number | boolean>>): Promise<ServiceProgram> {
  const { facts, identity } = world.tenant;
  return ServiceProgram.launch({
    service: "tunnel-client",
    settings: {
      "tunnel.environment-id": facts.id,
      "tunnel.name": "shop-1a2b3c",
      "tunnel.signing-public-keys": identity.publicKey,
      "tunnel.servers": world.tunnelUrl,
      "probes.bind-address": "127.0.0.1",
      "probes.bind-port": 0,
      ...settings,
    },
  });
}

function aKeyFile(name: string, key: string): string {
  const path = join(folder, name);
  writeFileSync(path, `${key}\n`);
  return path;
}

async function untilReady(url: string): Promise<void> {
  while (!(await isReady(url))) await new Promise((resolve) => setTimeout(resolve, 20));
}

const isReady = async (url: string): Promise<boolean> => (await fetch(url)).status === 200;

test(
  "serves allowed destinations while connected, opens remote ports with the key, and exits in order on a signal",
  async () => {
    await using local = await aLocal();
    const received: (string | undefined)[] = [];
    const environment = createServer((request, response) => {
      received.push(request.headers.authorization);
      response.end("the environment");
    });
    await new Promise<void>((resolve) => environment.listen(0, "127.0.0.1", resolve));
    const target = `http://127.0.0.1:${(environment.address() as AddressInfo).port}`;
    await using client = await launch({
      "tunnel.credential-file": aKeyFile("key", world.tenant.key),
      "tunnel.allow": `http://127.0.0.1:${local.port}`,
      "remote-proxy.enabled": true,
      "remote-proxy.bind-address": "127.0.0.1",
      "remote-proxy.ingress-port": 0,
      "remote-proxy.admin-port": 0,
      "remote-proxy.ingress-url": target,
      "remote-proxy.admin-url": target,
    });
    const facts = await client.ready();
    await untilReady(facts["probes"] as string);
    expect(world.relay.stats).toMatchObject({ names: 1, connections: 1 });

    await using runtime = new FakeRuntime(world);
    const path = (port: number): string => `shop-1a2b3c/http/127.0.0.1/${port}/invoke/S/h`;
    const request = { tenant: world.tenant, audience: "/invoke/S/h", body: "hi" };
    expect(await runtime.request({ ...request, path: path(local.port) })).toMatchObject({ status: 200, body: "hi" });
    expect((await runtime.request({ ...request, path: path(1) })).status).not.toBe(200);
    expect(local.requests).toEqual(["/invoke/S/h"]);

    expect(await (await fetch(`${facts["ingress"]}/S/h`)).text()).toBe("the environment");
    expect(received).toEqual([`Bearer ${world.tenant.key}`]);
    expect(await client.stop()).toMatchObject({ code: 0 });
    await until(() => world.relay.stats.connections === 0);
    environment.closeAllConnections();
    await new Promise((resolve) => environment.close(resolve));
  },
  TEST_MS,
);

test(
  "a key that the relay refuses ends the program, so that the orchestrator reports it",
  async () => {
    await using client = await launch({
      "tunnel.credential-file": aKeyFile("wrong", "key_nothing"),
      "tunnel.allow": "http://*.svc.cluster.local:9080",
    });
    await until(() => !client.isRunning);
    expect(client.lines.join("\n")).toContain("the relay refused this tunnel: unauthorized");
    expect(world.relay.stats.connections).toBe(0);
  },
  TEST_MS,
);
