/** Several tunnel clients of one name, clients that drain, and several relays. */

import { describe, expect, test } from "@jest/globals";
import { bareOf } from "@perdure/cloud";
import { until } from "@perdure/testkit";
import { aTenant, aWorld, credentials, FakeRuntime, ownClient, rawClient } from "./fixture.js";
import { aLocal, aServed } from "./local.js";

describe("several clients of one name", () => {
  test("share the load: the least busy one is used, equally busy ones alternate", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    const counts = [0, 0];
    const clients = await Promise.all([0, 1].map(() => rawClient(world, credentials(tenant))));
    for (const [i, client] of clients.entries()) {
      client.onStream = (stream) => {
        counts[i] = (counts[i] ?? 0) + 1;
        stream.respond({ ":status": 200 });
        stream.pipe(stream);
      };
      await client.decision;
    }
    await until(() => world.relay.stats.connections === 2);
    await using runtime = new FakeRuntime(world);
    for (let i = 0; i < 10; i++) await runtime.request({ tenant, path: "t/http/localhost/1/x" });
    expect(counts).toEqual([5, 5]);
    const held = Array.from({ length: 20 }, () => runtime.open({ tenant, path: "t/http/localhost/1/x" }));
    await Promise.all(held.map((stream) => new Promise((resolve) => stream.once("response", resolve))));
    expect(counts).toEqual([15, 15]);
    for (const stream of held) stream.end();
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  test("T9: another environment cannot take a name; a second client of the same environment shares it and is reported", async () => {
    await using world = await aWorld();
    const { tenant, tenancy } = world;
    const other = aTenant(tenancy);
    await using first = await rawClient(world, { ...credentials(tenant), "tunnel-worker-id": "one" });
    expect(await first.decision).toMatchObject({ "tunnel-status": "ok" });
    await using otherClient = await rawClient(world, { ...credentials(tenant), authorization: `Bearer ${other.key}` });
    expect(await otherClient.decision).toMatchObject({ "tunnel-status": "unauthorized" });
    // The same name in another environment is another tunnel.
    await using elsewhere = await rawClient(world, credentials(other));
    expect(await elsewhere.decision).toMatchObject({ "tunnel-status": "ok" });
    await using second = await rawClient(world, { ...credentials(tenant), "tunnel-worker-id": "two" });
    expect(await second.decision).toMatchObject({ "tunnel-status": "ok" });
    await until(() => world.relay.stats.connections === 3);
    await world.relay.report();
    const shown = tenancy.tunnels.get("r1")?.connections.filter(({ environmentId }) => environmentId === tenant.facts.id);
    expect(shown?.map(({ name, workerId }) => [name, workerId])).toEqual([
      ["t", "one"],
      ["t", "two"],
    ]);
    expect(new Set(shown?.map(({ id }) => id)).size).toBe(2);
  });
});

describe("a client that drains", () => {
  test("declines a request, which is sent once to another client; a plain 503 is an answer", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    const leaving = await rawClient(world, { ...credentials(tenant), "supports-client-drain": "true" });
    const requests: string[] = [];
    leaving.onStream = (stream) => {
      requests.push("leaving");
      stream.resume();
      stream.respond({ ":status": 503, "x-restate-tunnel-draining": "true" });
      stream.end();
    };
    await leaving.decision;
    await using runtime = new FakeRuntime(world);
    const alone = await runtime.request({ tenant, path: "t/http/localhost/1/x", body: "hello" });
    expect(alone).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
    expect(alone.headers["x-restate-tunnel-draining"]).toBeUndefined();
    await leaving[Symbol.asyncDispose]();

    await until(() => world.relay.stats.connections === 0);
    await using again = await rawClient(world, { ...credentials(tenant), "supports-client-drain": "true" });
    again.onStream = leaving.onStream;
    await again.decision;
    await using staying = await rawClient(world, credentials(tenant));
    let isBusy = false;
    staying.onStream = (stream) => {
      requests.push("staying");
      stream.respond({ ":status": isBusy ? 503 : 200 });
      stream.pipe(stream);
    };
    await staying.decision;
    await until(() => world.relay.stats.connections === 2);
    requests.length = 0;
    for (let i = 0; i < 2; i++) {
      expect(await runtime.request({ tenant, path: "t/http/localhost/1/x", body: "hello" })).toMatchObject({
        status: 200,
        body: "hello",
      });
    }
    expect(requests.filter((who) => who === "leaving").length).toBeLessThanOrEqual(1); // It declined at most once.
    isBusy = true;
    expect(await runtime.request({ tenant, path: "t/http/localhost/1/x" })).toMatchObject({ status: 503 });
  });

  test("declines only with the capability: without it the header makes no difference to an answer", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    let requestCount = 0;
    client.onStream = (stream) => {
      requestCount++;
      stream.respond({ ":status": 503, "x-restate-tunnel-draining": "true" }, { endStream: true });
    };
    await client.decision;
    await using runtime = new FakeRuntime(world);
    expect(await runtime.request({ tenant, path: "t/http/localhost/1/x" })).toMatchObject({ status: 503 });
    expect(await runtime.request({ tenant, path: "t/http/localhost/1/x" })).toMatchObject({ status: 503 });
    expect(requestCount).toBe(2);
  });

  test("by GOAWAY gets no new requests, and its requests in flight finish", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using local = await aLocal();
    const locals = [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }];
    const leaving = ownClient(world, tenant, { locals });
    await leaving.tunnel.ready;
    await using runtime = new FakeRuntime(world);
    const held = runtime.open({ tenant, path: "t/http/localhost/1/x" });
    let body = "";
    held.setEncoding("utf8");
    held.on("data", (chunk: string) => {
      body += chunk;
    });
    await new Promise((resolve) => held.once("response", resolve));
    await using staying = ownClient(world, tenant, { locals });
    await staying.tunnel.ready;
    await until(() => world.relay.stats.connections === 2);
    const left = leaving.tunnel.close();
    await until(() => leaving.tunnel.connections === 0);
    for (let i = 0; i < 10; i++)
      expect(await runtime.request({ tenant, path: "t/http/localhost/1/x" })).toMatchObject({ status: 200 });
    held.end("to the end");
    await new Promise((resolve) => held.on("close", resolve));
    expect(body).toBe("to the end");
    await left;
    await until(() => world.relay.stats.connections === 1);
  });
});

describe("two relays", () => {
  test("a request is forwarded once, to the relay that has the tunnel", async () => {
    await using holder = await aWorld();
    const { tenant, tenancy } = holder;
    await using otherRelay = await aWorld({ relay: "r2", peers: [holder.proxyUrl] }, { tenancy });
    await using _served = await aServed(holder);
    await using runtime = new FakeRuntime(otherRelay);
    expect(await runtime.request({ tenant, path: "t/http/localhost/1/x", body: "far" })).toMatchObject({
      status: 200,
      body: "far",
    });
    await using other = ownClient(otherRelay, tenant, { name: "u", locals: [] });
    await other.tunnel.ready;
    const unconnected = await runtime.request({ tenant, path: "v/http/localhost/1/x" });
    expect(JSON.parse(unconnected.body)).toEqual({ code: 502, message: "tunnel 'v' has no connected client" });
    await otherRelay.relay.report();
    await holder.relay.report();
    expect(tenancy.reports.map(({ source }) => source.split("/")[0])).toEqual(["r1"]);
  });

  test("that are peers of each other do not forward a request in a loop", async () => {
    const first = await aWorld();
    const { tenant, tenancy } = first;
    await using second = await aWorld({ relay: "r2", peers: [first.proxyUrl] }, { tenancy });
    await first[Symbol.asyncDispose]();
    await using runtime = new FakeRuntime(second);
    expect(await runtime.request({ tenant, path: "t/http/localhost/1/x" })).toMatchObject({ status: 502 });
  });

  test("answer only a runtime of the same environment whether they have a name", async () => {
    await using world = await aWorld();
    const { tenant, tenancy } = world;
    const otherTenant = aTenant(tenancy);
    await using client = await rawClient(world, credentials(tenant));
    await client.decision;
    await using runtime = new FakeRuntime(world);
    const path = `/_/held/${bareOf(tenant.facts.id)}/t`;
    expect(await runtime.request({ tenant, path })).toMatchObject({ status: 204 });
    expect(await runtime.request({ tenant, path: `/_/held/${bareOf(tenant.facts.id)}/u` })).toMatchObject({ status: 404 });
    expect(await runtime.request({ tenant: otherTenant, path })).toMatchObject({ status: 403 });
    expect(await runtime.request({ tenant, path, token: "" })).toMatchObject({ status: 401 });
  });
});
