/** Who may stay: credentials that are taken back, run out, or cannot be asked about; keys that are replaced; relays that go. */
import { describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { newUserId } from "@perdure/cloud";
import { MemoryTenancy } from "@perdure/cloud/testing";
import { aTenant, aWorld, credentials, FakeRuntime, hurried, ownClient, type RawClient, rawClient, until } from "./fixture.js";
import { aLocal } from "./local.js";

/** Answers control requests as official clients do, and says what it heard. */
function listening(client: RawClient): string[] {
  const paths: string[] = [];
  client.onStream = (stream, headers) => {
    paths.push(`${String(headers[":method"])} ${String(headers[":path"])}`);
    stream.respond({ ":status": 200 });
    stream.pipe(stream);
  };
  return paths;
}

describe("T14: whoever lost the right", () => {
  test("by news of its key is cut off at once, with what runs; another key's tunnels stay", async () => {
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
    expect(performance.now() - startedAt).toBeLessThan(30_000); // Without news it takes up to a minute.
    await broken;
    expect(world.relay.stats.connections).toBe(1);
    await using again = await rawClient(world, credentials(tenant));
    expect(await again.decision).toMatchObject({ "tunnel-status": "unauthorized" });
    expect(kept.socket.destroyed).toBe(false);
  });

  test("without news is cut off within a minute all the same", async () => {
    const tenancy = new DeafTenancy();
    // Timers run sixty times faster and so does the clock that ages are measured with.
    const clock = hurried(60);
    await using world = await aWorld({}, { tenancy, clock: { ...clock, monotonicMs: () => clock.monotonicMs() * 60 } });
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    expect(await client.decision).toMatchObject({ "tunnel-status": "ok" });
    const startedAt = performance.now();
    tenancy.revoke(tenant.key);
    await client.closed;
    expect((performance.now() - startedAt) * 60).toBeLessThan(60_000);
  });

  test("as a member is cut off, as is everybody of an environment that is suspended or deleted", async () => {
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

  test("because a token runs out is told to go, dials again, and hears why", async () => {
    await using world = await aWorld();
    const { tenant, tenancy } = world;
    const id = newUserId(Date.now(), systemRandom);
    const expiresAtMs = Date.now() + 100;
    tenancy.addCaller("token", [tenant.facts.id], { kind: "member", id, role: "developer", expiresAtMs });
    await using client = ownClient(world, { ...tenant, key: "token" });
    await client.tunnel.ready;
    tenancy.revoke("token"); // The memory double does not look at the time.
    expect(await client.tunnel.ended).toEqual({ kind: "refused", status: "unauthorized" });
  });

  test("stays while tenancy is away for a while, and goes when that takes too long", async () => {
    const tenancy = new MemoryTenancy();
    const clock = hurried(300);
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

/** Tells nobody anything. */
class DeafTenancy extends MemoryTenancy {
  override notify(): void {}
}

describe("a connection that should go elsewhere", () => {
  test("is told so first, then gets GOAWAY, then ends when its requests have", async () => {
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

  test("is not told when its client would not understand, and gets GOAWAY all the same", async () => {
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

  test("is drained when the environment signs with another key, so that clients read which", async () => {
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

  test("whose client stops answering is given up after two questions", async () => {
    await using world = await aWorld({}, { clock: hurried(100) });
    await using client = await rawClient(world, credentials(world.tenant));
    const paths: unknown[] = [];
    client.onStream = (_stream, headers) => paths.push(headers[":path"]);
    await client.decision;
    await client.closed;
    expect(paths.filter((path) => path === "/_/health").length).toBeGreaterThanOrEqual(2);
  });

  test("of ours is replaced before it ends: requests are served all the time", async () => {
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
