/** Open tunnels whose credentials are revoked, expire or cannot be checked, whose keys are replaced, or whose relay shuts down. */

import { describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { newUserId } from "@perdure/cloud";
import { MemoryTenancy } from "@perdure/cloud/testing";
import { until } from "@perdure/testkit";
import { aTenant, aWorld, credentials, FakeRuntime, hurried, ownClient, type RawClient, rawClient } from "./fixture.js";
import { aLocal } from "./local.js";

/** Answers control requests as official clients do, and returns the paths that it received. */
function listening(client: RawClient): string[] {
  const paths: string[] = [];
  client.onStream = (stream, headers) => {
    paths.push(`${String(headers[":method"])} ${String(headers[":path"])}`);
    stream.respond({ ":status": 200 });
    stream.pipe(stream);
  };
  return paths;
}

describe("T14: a tunnel whose credential is not valid any more", () => {
  test("is closed at once by the change event of its key, with its requests; tunnels of other keys stay", async () => {
    await using world = await aWorld();
    const { tenant, tenancy } = world;
    const other = tenancy.addKey(tenant.facts.id, "rst:role::FullAccess");
    await using revoked = await rawClient(world, credentials(tenant));
    await using kept = await rawClient(world, credentials({ ...tenant, key: other }, "kept"));
    listening(revoked);
    await Promise.all([revoked.decision, kept.decision]);
    await until(() => world.relay.stats.connections === 2);
    await using runtime = new FakeRuntime(world);
    const held = runtime.open({ tenant, path: "t/http/localhost/1/x" });
    const broken = new Promise((resolve) => held.on("error", resolve));
    await new Promise((resolve) => held.once("response", resolve));
    const startedAt = performance.now();
    tenancy.revoke(tenant.key);
    await revoked.closed;
    expect(performance.now() - startedAt).toBeLessThan(30_000); // Without a change event it takes up to a minute.
    await broken;
    expect(world.relay.stats.connections).toBe(1);
    await using again = await rawClient(world, credentials(tenant));
    expect(await again.decision).toMatchObject({ "tunnel-status": "unauthorized" });
    expect(kept.socket.destroyed).toBe(false);
  });

  test("is closed within a minute without a change event", async () => {
    const tenancy = new DeafTenancy();
    // Timers run ten times faster and so does the clock that ages are measured with.
    const clock = hurried(10);
    await using world = await aWorld({}, { tenancy, clock: { ...clock, monotonicMs: () => clock.monotonicMs() * 10 } });
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    expect(await client.decision).toMatchObject({ "tunnel-status": "ok" });
    const startedAt = performance.now();
    tenancy.revoke(tenant.key);
    await client.closed;
    expect((performance.now() - startedAt) * 10).toBeLessThan(60_000);
  });

  test("is closed when a member is removed, or its environment is suspended or deleted", async () => {
    await using world = await aWorld();
    const { tenant, tenancy } = world;
    const id = newUserId(Date.now(), systemRandom);
    tenancy.addCaller("token", [tenant.facts.id], { kind: "member", id, role: "developer", expiresAtMs: Date.now() + 60_000 });
    await using member = await rawClient(world, credentials({ ...tenant, key: "token" }));
    await member.decision;
    await until(() => world.relay.stats.connections === 1);
    tenancy.revoke("token");
    await member.closed;
    for (const end of ["SUSPENDED", "gone"] as const) {
      const another = aTenant(tenancy);
      await using client = await rawClient(world, credentials(another));
      await client.decision;
      await until(() => world.relay.stats.connections === 1);
      if (end === "gone") tenancy.remove(another.facts.id);
      else tenancy.put({ ...another.facts, status: end });
      await client.closed;
    }
  });

  test("drains when its token expires; the client reconnects and gets the reason", async () => {
    await using world = await aWorld();
    const { tenant, tenancy } = world;
    const id = newUserId(Date.now(), systemRandom);
    const expiresAtMs = Date.now() + 100;
    tenancy.addCaller("token", [tenant.facts.id], { kind: "member", id, role: "developer", expiresAtMs });
    await using client = ownClient(world, { ...tenant, key: "token" });
    await client.tunnel.ready;
    tenancy.revoke("token"); // The memory tenancy does not check the expiry.
    expect(await client.tunnel.ended).toEqual({ kind: "refused", status: "unauthorized" });
  });

  test("stays open while tenancy is unavailable for a short time, and is closed after a longer one", async () => {
    const tenancy = new MemoryTenancy();
    const clock = hurried(60);
    let aheadMs = 0;
    await using world = await aWorld({}, { tenancy, clock: { ...clock, monotonicMs: () => clock.monotonicMs() + aheadMs } });
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    listening(client);
    await client.decision;
    await until(() => world.relay.stats.connections === 1);
    tenancy.isAway = true;
    aheadMs = 60_000;
    tenancy.notify({ kind: "everything" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(world.relay.stats.connections).toBe(1);
    aheadMs = 400_000;
    await client.closed;
  });
});

/** A tenancy that publishes no change events. */
class DeafTenancy extends MemoryTenancy {
  override notify(): void {}
}

describe("a connection that drains", () => {
  test("gets the drain notice, then GOAWAY, and closes when its requests have ended", async () => {
    const world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    const paths = listening(client);
    await client.decision;
    await using runtime = new FakeRuntime(world);
    const held = runtime.open({ tenant, path: "t/http/localhost/1/x" });
    await new Promise((resolve) => held.once("response", resolve));
    const goaway = new Promise<number>((resolve) => client.session.once("goaway", resolve));
    const closed = world.relay.close();
    await until(() => paths.includes("POST /_/drain-tunnel"));
    await expect(rawClient(world, credentials(tenant))).rejects.toThrow();
    expect(await goaway).toBe(0);
    expect(client.socket.destroyed).toBe(false);
    let body = "";
    held.setEncoding("utf8");
    held.on("data", (chunk: string) => {
      body += chunk;
    });
    held.end("still answered");
    await new Promise((resolve) => held.on("close", resolve));
    expect(body).toBe("still answered");
    await client.closed;
    await closed;
  });

  test("gets no drain notice when its client does not support it, and gets GOAWAY", async () => {
    const world = await aWorld({}, { clock: hurried(20) });
    const { "supports-drain": _not, ...old } = credentials(world.tenant);
    await using client = await rawClient(world, old);
    const paths = listening(client);
    await client.decision;
    await until(() => world.relay.stats.connections === 1);
    const goaway = new Promise<number>((resolve) => client.session.once("goaway", resolve));
    const closed = world.relay.close();
    expect(await goaway).toBe(0);
    expect(paths).toEqual([]);
    await closed;
  });

  test("begins when the environment signs with another key, so that clients read the new one", async () => {
    await using world = await aWorld({}, { clock: hurried(20) });
    const { tenant, tenancy } = world;
    await using client = await rawClient(world, credentials(tenant));
    const paths = listening(client);
    await client.decision;
    await until(() => world.relay.stats.connections === 1);
    tenancy.put({ ...tenant.facts, signingPublicKeys: [...tenant.facts.signingPublicKeys, "publickeyv1_next"] });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(paths).toEqual([]); // The next key does not sign yet.
    tenancy.put({ ...tenant.facts, signingPublicKeys: ["publickeyv1_next", ...tenant.facts.signingPublicKeys] });
    await until(() => paths.includes("POST /_/drain-tunnel"));
  });

  test("is closed after two missed health checks", async () => {
    await using world = await aWorld({}, { clock: hurried(100) });
    await using client = await rawClient(world, credentials(world.tenant));
    const paths: unknown[] = [];
    client.onStream = (_stream, headers) => paths.push(headers[":path"]);
    await client.decision;
    await client.closed;
    expect(paths.filter((path) => path === "/_/health").length).toBeGreaterThanOrEqual(2);
  });

  test("of Perdure's client is replaced before it ends: requests are served without interruption", async () => {
    await using going = await aWorld({}, { clock: hurried(5) });
    const { tenant, tenancy } = going;
    await using staying = await aWorld({ relay: "r2", peers: [going.proxyUrl] }, { tenancy });
    await using local = await aLocal();
    await using client = ownClient(going, tenant, {
      servers: [going.tunnelUrl, staying.tunnelUrl],
      locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }],
    });
    await until(() => client.tunnel.connections === 2);
    await until(() => staying.relay.stats.connections === 1);
    await using runtime = new FakeRuntime(staying);
    const closed = going.relay.close();
    for (let i = 0; i < 20; i++) {
      expect(await runtime.request({ tenant, path: "t/http/localhost/1/x", body: `${i}` })).toMatchObject({
        status: 200,
        body: `${i}`,
      });
    }
    await closed;
    expect(await runtime.request({ tenant, path: "t/http/localhost/1/x" })).toMatchObject({ status: 200 });
  });
});
