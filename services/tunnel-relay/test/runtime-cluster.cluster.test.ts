/** A runtime of several processes behind a relay: its registry discovers an endpoint behind a tunnel, and its workers call it. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { bareOf } from "@perdure/cloud";
import { SdkEndpoint, TestAdminClient, TestIngressClient } from "@perdure/conformance";
import { DevCluster } from "@perdure/dev-cluster";
import { type Context, service } from "@restatedev/restate-sdk";
import { aTenant, aWorld, ownClient, PUBLIC_PROXY, type Tenant, type World } from "./fixture.js";

/** The programs may have to be built first. */
const START_MS = 300_000;

const folder = mkdtempSync(join(tmpdir(), "perdure-tunnels-"));
const things: AsyncDisposable[] = [];
let world: World;
let tenant: Tenant;
let admin: TestAdminClient;
let ingress: TestIngressClient;

beforeAll(async () => {
  world = await aWorld();
  things.push(world);
  tenant = world.tenant;
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const callers = {
    "cluster-name": tenant.facts.id,
    "request-identity-private-key-pem-file": file("pem", tenant.pem),
    "egress.policy": "guarded",
    "tunnels.proxy-url": world.proxyUrl,
    "tunnels.public-url": PUBLIC_PROXY,
    "tunnels.token-file": file("token", tenant.token),
  };
  const cluster = await DevCluster.start({
    workers: 2,
    gateways: 1,
    settings: { registry: callers, "invoker-worker": { ...callers, "worker.num-partitions": 4 } },
  });
  things.push(cluster);
  admin = new TestAdminClient(cluster.adminUrl);
  ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
}, START_MS);
afterAll(async () => {
  admin?.[Symbol.dispose]();
  ingress?.[Symbol.dispose]();
  for (const thing of things.toReversed()) await thing[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const greeter = service({
  name: "Greeter",
  handlers: {
    greet: async (_ctx: Context, to: string) => `hello ${to}`,
    nap: async (ctx: Context) => {
      await ctx.sleep(20);
      return "rested";
    },
  },
});

test(
  "tunnel://name:port registers and serves in a cluster, with signatures that the SDK checks, and tunnels of other environments are refused",
  async () => {
    await using endpoint = await SdkEndpoint.start({ services: [greeter], identityKeys: [tenant.identity.publicKey] });
    const locals = [{ tunnelPort: 9080, host: "127.0.0.1", port: endpoint.port }];
    await using client = ownClient(world, tenant, { name: "ours", locals });
    await client.tunnel.ready;
    const registered = await admin.tryRegister({ uri: "tunnel://ours:9080" });
    expect([registered.status, registered.json]).toMatchObject([201, { services: [{ name: "Greeter" }] }]);
    // Enough keys that both workers lead partitions of some.
    const greeted = await Promise.all(Array.from({ length: 16 }, (_, n) => ingress.result(["Greeter", "greet"], `${n}`)));
    expect(greeted).toEqual(Array.from({ length: 16 }, (_, n) => `hello ${n}`));
    expect(await ingress.result(["Greeter", "nap"])).toBe("rested");
    const long = `${PUBLIC_PROXY}/${bareOf(tenant.facts.id)}/ours/http/localhost/9080/`;
    expect(await admin.tryRegister({ uri: long })).toMatchObject({ status: 409, json: { restate_code: "META0004" } });
    const other = aTenant(world.tenancy);
    const theirs = `${PUBLIC_PROXY}/${bareOf(other.facts.id)}/ours/http/localhost/9080/`;
    expect(await admin.tryRegister({ uri: theirs })).toMatchObject({
      status: 400,
      json: { restate_code: "META0003", message: expect.stringContaining("tunnel belongs to another environment") },
    });
  },
  START_MS,
);
