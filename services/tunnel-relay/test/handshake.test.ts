import { describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { bareOf, newEnvironmentId, newUserId } from "@perdure/cloud";
import { exampleLimits } from "@perdure/cloud/testing";
import { until, VirtualClock } from "@perdure/testkit";
import { TunnelAudit } from "../src/audit.js";
import { AUDIT_WAITING_MAX, AUDIT_WINDOW_MS } from "../src/limits.js";
import { aTenant, aWorld, credentials, FakeRuntime, hurried, rawClient } from "./fixture.js";

describe("the handshake", () => {
  test("is the request, the headers and the trailers that official clients expect", async () => {
    await using world = await aWorld();
    await using client = await rawClient(world, credentials(world.tenant));
    expect(client.startHeaders).toMatchObject({
      ":method": "GET",
      ":path": "/_/start-tunnel",
      ":scheme": "http",
      ":authority": "tunnel-client",
    });
    expect(await client.decision).toEqual({
      "tunnel-status": "ok",
      "proxy-url": `https://tunnel.us.perdure.test:9080/${bareOf(world.tenant.facts.id)}/t`,
      "tunnel-url": "https://tunnel.us.perdure.test:9090",
      "tunnel-name": "t",
    });
  });

  test("assigns a name to a client without one", async () => {
    await using world = await aWorld();
    const { "tunnel-name": _none, ...unnamed } = credentials(world.tenant);
    await using client = await rawClient(world, unnamed);
    const decision = await client.decision;
    expect(decision?.["tunnel-name"]).toMatch(/^t-[0-9A-Za-z]{12}$/);
  });

  test.each([
    { why: "the key is unknown", set: { authorization: "Bearer key_x" } },
    { why: "there is no credential", set: { authorization: "" } },
    { why: "it is not a bearer's", set: { authorization: "Basic eA==" } },
    { why: "the environment is malformed", set: { "environment-id": "env_x" } },
    { why: "the environment is another", set: { "environment-id": "env_201k0yd4rz8yftmd4awh1bajg4v" } },
    { why: "the name begins with an underscore", set: { "tunnel-name": "_t" }, status: "bad-tunnel-name" },
    { why: "the name needs encoding", set: { "tunnel-name": "a/b" }, status: "bad-tunnel-name" },
    { why: "the name is too long", set: { "tunnel-name": "a".repeat(64) }, status: "bad-tunnel-name" },
  ])("refuses when $why, and then ends the connection", async ({ set, status = "unauthorized" }) => {
    await using world = await aWorld({}, { clock: hurried(20) });
    await using client = await rawClient(world, { ...credentials(world.tenant), ...(set as Record<string, string>) });
    expect(await client.decision).toEqual({ "tunnel-status": status });
    await client.closed;
    expect(world.relay.stats.connections).toBe(0);
  });

  test.each([
    { why: "an ingress key", role: "rst:role::IngressAccess" },
    { why: "an admin key", role: "rst:role::AdminAccess" },
    { why: "a read-only key", role: "perdure:role::AdminReadOnly" },
    { why: "an awakeable key", role: "rst:role::ResolveAwakeableAccess" },
  ] as const)("refuses $why", async ({ role }) => {
    await using world = await aWorld();
    const { tenant, tenancy } = world;
    await using client = await rawClient(world, credentials({ ...tenant, key: tenancy.addKey(tenant.facts.id, role) }));
    expect(await client.decision).toMatchObject({ "tunnel-status": "unauthorized" });
  });

  test.each([
    { role: "developer", status: "ok" },
    { role: "viewer", status: "unauthorized" },
    { role: "billing", status: "unauthorized" },
  ] as const)("a member with the role $role gets $status", async ({ role, status }) => {
    await using world = await aWorld();
    const { tenant, tenancy } = world;
    const id = newUserId(Date.now(), systemRandom);
    tenancy.addCaller("token", [tenant.facts.id], { kind: "member", id, role, expiresAtMs: Date.now() + 60_000 });
    await using client = await rawClient(world, credentials({ ...tenant, key: "token" }));
    expect(await client.decision).toMatchObject({ "tunnel-status": status });
  });

  test.each([{ status: "SUSPENDED" }, { status: "DELETING" }, { region: "eu" }] as const)(
    "refuses an environment that is %j",
    async (set) => {
      await using world = await aWorld();
      const tenant = aTenant(world.tenancy, set);
      await using client = await rawClient(world, credentials(tenant));
      expect(await client.decision).toMatchObject({ "tunnel-status": "unauthorized" });
    },
  );

  test("sends no final status while tenancy is unavailable", async () => {
    await using world = await aWorld();
    world.tenancy.isAway = true;
    await using client = await rawClient(world, credentials(world.tenant));
    expect(await client.decision).toBeUndefined();
    await client.closed;
  });

  test("one name may use half of the plan's connections, an environment all of them and its number of names", async () => {
    await using world = await aWorld();
    const limits = { ...exampleLimits, tunnelNamesMax: 2, tunnelConnectionsMax: 3 };
    const tenant = aTenant(world.tenancy, { limits });
    const statuses: unknown[] = [];
    const open: AsyncDisposable[] = [];
    for (const name of ["a", "a", "a", "b", "b"]) {
      const client = await rawClient(world, credentials(tenant, name));
      open.push(client);
      statuses.push((await client.decision)?.["tunnel-status"]);
    }
    expect(statuses).toEqual(["ok", "ok", "too-many-tunnels", "ok", "too-many-tunnels"]);
    const few = aTenant(world.tenancy, { limits: { ...limits, tunnelNamesMax: 1 } });
    for (const [name, status] of [
      ["a", "ok"],
      ["b", "too-many-tunnels"],
    ] as const) {
      const client = await rawClient(world, credentials(few, name));
      open.push(client);
      expect(await client.decision).toMatchObject({ "tunnel-status": status });
    }
    for (const client of open) await client[Symbol.asyncDispose]();
  });

  test("is written to the audit log: opened, closed and refused tunnels with caller and address", async () => {
    await using world = await aWorld();
    const { tenant, tenancy, relay } = world;
    const events = () => tenancy.tunnels.get("r1")?.events;
    const client = await rawClient(world, credentials(tenant, "a"));
    expect(await client.decision).toMatchObject({ "tunnel-status": "ok" });
    await using refused = await rawClient(world, credentials({ ...tenant, key: "key_of_nobody" }, "b"));
    expect(await refused.decision).toMatchObject({ "tunnel-status": "unauthorized" });
    const environmentId = tenant.facts.id;
    await relay.report();
    const opened = { kind: "opened", environmentId, name: "a", caller: { kind: "key" }, address: "127.0.0.1", omitted: 0 };
    expect(events()).toMatchObject([
      opened,
      { kind: "refused", environmentId, name: "b", reason: "the credential is unknown", address: "127.0.0.1" },
    ]);
    expect(JSON.stringify(events())).not.toContain("key_of_nobody");
    await client[Symbol.asyncDispose]();
    await until(() => relay.stats.connections === 0);
    tenancy.isAway = true;
    await relay.report();
    tenancy.isAway = false;
    await relay.report();
    expect(events()).toMatchObject([{ ...opened, kind: "closed" }]);
    await relay.report();
    expect(events()).toEqual([]);
  });

  test("writes at most a hundred refusals of an environment in ten minutes, and the number of omitted ones", () => {
    const clock = new VirtualClock();
    const audit = new TunnelAudit(clock);
    const id = newEnvironmentId(0, systemRandom);
    const refuse = (): void => audit.add(id, { kind: "refused" });
    for (let n = 0; n < 250; n++) refuse();
    audit.add(id, { kind: "opened", name: "a" });
    expect(audit.waiting.map(({ kind }) => kind)).toEqual([...Array(100).fill("refused"), "opened"]);
    audit.reported(audit.waiting);
    clock.advanceTo(clock.nowMs() + AUDIT_WINDOW_MS);
    refuse();
    expect(audit.waiting).toMatchObject([{ kind: "refused", omitted: 150 }]);
    audit.reported(audit.waiting);
    for (let n = 0; n <= AUDIT_WAITING_MAX; n++) audit.add(newEnvironmentId(n, systemRandom), { kind: "closed" });
    expect(audit.waiting).toHaveLength(AUDIT_WAITING_MAX);
  });

  test("a released reservation can be used again", async () => {
    await using world = await aWorld();
    const tenant = aTenant(world.tenancy, { limits: { ...exampleLimits, tunnelNamesMax: 1, tunnelConnectionsMax: 1 } });
    const first = await rawClient(world, credentials(tenant, "a"));
    expect(await first.decision).toMatchObject({ "tunnel-status": "ok" });
    await first[Symbol.asyncDispose]();
    await until(() => world.relay.stats.connections === 0);
    await using second = await rawClient(world, credentials(tenant, "b"));
    expect(await second.decision).toMatchObject({ "tunnel-status": "ok" });
  });
});

describe("T26: a malicious client", () => {
  test("that never answers is cut off at the deadline, and gets no trailers before it has answered", async () => {
    await using world = await aWorld({}, { clock: hurried(50, { handshakesToo: true }) });
    const startedAt = performance.now();
    await using client = await rawClient(world, undefined);
    expect(await client.decision).toBeUndefined();
    await client.closed;
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(95);
    expect(world.relay.stats.handshakes).toBe(0);
  });

  test("that sends nothing at all is cut off too", async () => {
    await using world = await aWorld({}, { clock: hurried(50, { handshakesToo: true }) });
    const { connect } = await import("node:net");
    const socket = connect(Number(new URL(world.tunnelUrl).port), "127.0.0.1");
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
    expect(world.relay.stats.handshakes).toBe(0);
  });

  test.each(["GET / HTTP/1.1\r\nhost: x\r\n\r\n", "\0".repeat(4096), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])(
    "that talks %j ends alone",
    async (bytes) => {
      await using world = await aWorld({}, { clock: hurried(5, { handshakesToo: true }) });
      const { connect } = await import("node:net");
      const socket = connect(Number(new URL(world.tunnelUrl).port), "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(bytes);
      socket.resume();
      await new Promise((resolve) => socket.once("close", resolve));
      await using client = await rawClient(world, credentials(world.tenant));
      expect(await client.decision).toMatchObject({ "tunnel-status": "ok" });
    },
  );

  test("that answers with huge headers is disconnected without a status", async () => {
    await using world = await aWorld();
    const headers: Record<string, string> = {};
    for (let i = 0; i < 40; i++) headers[`x-${i}`] = "a".repeat(1000);
    await using client = await rawClient(world, { ...credentials(world.tenant), ...headers });
    expect(await client.decision).toBeUndefined();
    await client.closed;
  });

  test("that reconnects too often is not answered any more, for its whole network", async () => {
    await using world = await aWorld({ handshakesPerMinute: 3 });
    for (let i = 0; i < 3; i++) {
      await using client = await rawClient(world, { authorization: "Bearer x", "environment-id": "env_x" });
      expect(await client.decision).toMatchObject({ "tunnel-status": "unauthorized" });
    }
    const { connect } = await import("node:net");
    const socket = connect(Number(new URL(world.tunnelUrl).port), "127.0.0.1");
    socket.on("error", () => undefined);
    const chunks: Buffer[] = [];
    socket.on("data", (bytes) => chunks.push(bytes));
    await new Promise((resolve) => socket.once("close", resolve));
    expect(Buffer.concat(chunks)).toHaveLength(0);
  });

  test("whose answers never end or never come does not delay other clients", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using bad = await rawClient(world, credentials(tenant, "bad"));
    bad.onStream = () => undefined;
    await using good = await rawClient(world, credentials(tenant, "good"));
    good.onStream = (stream) => {
      stream.respond({ ":status": 200 });
      stream.end("good");
    };
    await Promise.all([bad.decision, good.decision]);
    await using runtime = new FakeRuntime(world);
    const waiting = runtime.open({ tenant, path: "bad/http/localhost/1/x" });
    waiting.on("error", () => undefined);
    waiting.end();
    expect(await runtime.request({ tenant, path: "good/http/localhost/1/x" })).toMatchObject({ status: 200, body: "good" });
    expect(world.relay.stats.inFlight).toBe(1);
    waiting.close(8);
    await until(() => world.relay.stats.inFlight === 0);
  });
});
