import { request as httpRequest } from "node:http";
import type { ClientHttp2Stream } from "node:http2";
import { describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { bareOf } from "@perdure/cloud";
import { HTTP_VERSION_HEADER, RUNTIME_TOKEN_HEADER } from "@perdure/tunnel";
import { aTenant, aWorld, credentials, FakeRuntime, hurried, ownClient, rawClient, until } from "./fixture.js";
import { aLocal, aServed } from "./local.js";

describe("a request through a tunnel", () => {
  test("reaches the service behind and returns its answer, without headers of the relay", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using served = await aServed(world, { tunnelPort: 9080 });
    const { local, client } = served;
    await using runtime = new FakeRuntime(world);
    const answer = await runtime.request({
      tenant,
      path: "t/http/localhost/9080/base/invoke/S/h?q=1",
      audience: "/invoke/S/h",
      body: "hi",
    });
    expect(answer).toMatchObject({ status: 200, body: "hi", headers: { "x-of": "local" } });
    expect(local.requests).toEqual(["/base/invoke/S/h?q=1"]);
    expect(Object.keys(local.last)).not.toContain(RUNTIME_TOKEN_HEADER);
    expect(Object.keys(local.last)).not.toContain(HTTP_VERSION_HEADER);
    expect(local.last["x-restate-jwt-v1"]).toBeDefined();
    await until(() => client.events.some(({ kind }) => kind === "request") && world.relay.stats.inFlight === 0);
  });

  test("streams both ways before either side has ended", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using _served = await aServed(world);
    await using runtime = new FakeRuntime(world);
    const stream = runtime.open({ tenant, path: "t/http/localhost/1/x" });
    stream.setEncoding("utf8");
    const replies: string[] = [];
    for (const text of ["one", "two", "three"]) {
      const said = new Promise<void>((resolve) => stream.once("data", (chunk: string) => resolve(void replies.push(chunk))));
      stream.write(text);
      await said;
    }
    expect(world.relay.stats.inFlight).toBe(1);
    stream.end();
    await new Promise((resolve) => stream.on("close", resolve));
    expect(replies).toEqual(["one", "two", "three"]);
  });

  test("moves many MiB, and buffers little of them while the client does not read", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using _served = await aServed(world);
    await using runtime = new FakeRuntime(world);
    const stream = runtime.open({ tenant, path: "t/http/localhost/1/x" });
    const chunk = Buffer.alloc(256 * 1024, 7);
    const total = 96;
    let written = 0;
    const write = (): void => {
      while (written < total && stream.write(chunk)) written++;
      if (written < total) written++;
    };
    stream.on("drain", write);
    stream.pause();
    write();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(written).toBeLessThan(total); // The echo is not read, so all buffers on the way are full.
    let receivedCount = 0;
    await new Promise<void>((resolve) => {
      stream.on("data", (bytes: Buffer) => {
        receivedCount += bytes.length;
        if (written >= total && !stream.writableEnded) stream.end();
      });
      stream.on("close", resolve);
      stream.resume();
    });
    expect(receivedCount).toBe(total * chunk.length);
    await world.relay.report();
    expect(world.tenancy.reports.at(-1)).toMatchObject({
      environmentId: tenant.facts.id,
      totals: { tunnelBytes: 2 * total * chunk.length, bytesIn: 0 },
    });
  });

  test("of an environment that used up its traffic is slow, and arrives complete", async () => {
    // Both clocks run thirty times faster.
    const clock = hurried(30);
    await using world = await aWorld({}, { clock: { ...clock, monotonicMs: () => clock.monotonicMs() * 30 } });
    const tenant = aTenant(world.tenancy, { isThrottled: true });
    await using _served = await aServed(world, { tenant });
    await using runtime = new FakeRuntime(world);
    const body = "a".repeat(4 * 1024 * 1024);
    const startedAt = performance.now();
    expect((await runtime.request({ tenant, path: "t/http/localhost/1/x", body })).body).toBe(body);
    const seconds = ((performance.now() - startedAt) * 30) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(7.5); // 8 MiB both ways, at 1 MiB a second.
  });

  test("in HTTP/1.1 is HTTP/1.1 behind the tunnel too", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    const requests: unknown[] = [];
    client.onStream = (stream, headers) => {
      requests.push(headers[HTTP_VERSION_HEADER], headers[":path"], headers[":method"]);
      stream.respond({ ":status": 201, "x-a": "b" });
      stream.pipe(stream);
    };
    await client.decision;
    await using runtime = new FakeRuntime(world);
    const all = runtime.headers({ tenant, path: "t/http/localhost/1/discover" });
    const path = all[":path"] as string;
    for (const name of [":path", ":method"]) delete all[name];
    const answer = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const request = httpRequest(
        world.proxyUrl + path,
        { method: "POST", headers: { ...all, connection: "close" } },
        (response) => {
          let body = "";
          response.setEncoding("utf8");
          response.on("data", (chunk: string) => {
            body += chunk;
          });
          response.on("end", () => resolve({ status: response.statusCode, body }));
        },
      );
      request.on("error", reject);
      request.end("hello");
    });
    expect(answer).toEqual({ status: 201, body: "hello" });
    expect(requests).toEqual(["HTTP/1.1", "/http/localhost/1/discover", "POST"]);
  });

  test("is 502 when no client has the name, and 502 when none serves the port", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using runtime = new FakeRuntime(world);
    const unconnected = await runtime.request({ tenant, path: "t/http/localhost/1/discover" });
    expect(unconnected.status).toBe(502);
    expect(JSON.parse(unconnected.body)).toEqual({ code: 502, message: "tunnel 't' has no connected client" });
    await using client = ownClient(world, tenant, { locals: [{ tunnelPort: 2, host: "127.0.0.1", port: 2 }] });
    await client.tunnel.ready;
    const undeclared = await runtime.request({ tenant, path: "t/http/localhost/1/discover" });
    expect(JSON.parse(undeclared.body)).toEqual({ code: 502, message: "tunnel 't' does not serve port 1" });
    expect(client.events.filter(({ kind }) => kind === "denied" || kind === "request")).toEqual([]);
    await world.relay.report();
    expect(world.tenancy.tunnels.get("r1")?.connections).toMatchObject([{ name: "t", ports: [2] }]);
  });

  test("is 503 with Retry-After when the tunnel has reached its limit of requests", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    client.session.settings({ maxConcurrentStreams: 1 });
    client.onStream = (stream) => {
      stream.respond({ ":status": 200 });
      stream.pipe(stream);
    };
    await client.decision;
    await using runtime = new FakeRuntime(world);
    const first = runtime.open({ tenant, path: "t/http/localhost/1/x" });
    await new Promise((resolve) => first.once("response", resolve));
    const second = await runtime.request({ tenant, path: "t/http/localhost/1/x" });
    expect(second).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
    first.end();
  });

  test.each([
    ["the runtime gives it up", (stream: ClientHttp2Stream) => stream.destroy(new Error("given up"))],
    ["the runtime's connection breaks", (stream: ClientHttp2Stream) => stream.session?.socket.destroy()],
  ])("is broken off, not ended, on the other side when %s", async (_why, breakIt) => {
    await using world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    let hasEnded = false;
    const closed = new Promise<number | undefined>((resolve) => {
      client.onStream = (stream) => {
        stream.on("aborted", () => resolve(stream.rstCode));
        stream.on("end", () => {
          hasEnded = !stream.aborted;
        });
        stream.resume();
      };
    });
    await client.decision;
    await using runtime = new FakeRuntime(world);
    const stream = runtime.open({ tenant, path: "t/http/localhost/1/x" });
    stream.on("error", () => undefined);
    stream.write("begun");
    await until(() => world.relay.stats.inFlight === 1);
    breakIt(stream);
    expect(await closed).not.toBe(0);
    expect(hasEnded).toBe(false);
  });

  test("is reset, not ended, when the answer is incomplete", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    client.onStream = (stream) => {
      stream.respond({ ":status": 200 });
      stream.write("half", () => client.socket.destroy());
    };
    await client.decision;
    await using runtime = new FakeRuntime(world);
    await expect(runtime.request({ tenant, path: "t/http/localhost/1/x" })).rejects.toThrow(/NGHTTP2_INTERNAL_ERROR/);
  });
});

describe("T8: paths that could become control requests", () => {
  test.each([
    "t/_/drain-tunnel",
    "t/_/health",
    "t//_/drain-tunnel",
    "t/%2e%2e/_/drain-tunnel",
    "t/http/localhost/1/../../../_/drain-tunnel",
    "t/http/localhost/1/%2E%2e/_/drain-tunnel",
    "t/http/local%2fhost/1/_/drain-tunnel",
    "t/http%2f/localhost/1/x",
    "t/http/localhost/x/y",
    "t/http/localhost",
    "t/ftp/localhost/1/x",
    "t/http/localhost/70000/x",
    "t/http/../1/x",
    "t",
    "_/_/drain-tunnel/x/1",
  ])("%s is 400, and the client gets no request", async (path) => {
    await using world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    const received: unknown[] = [];
    client.onStream = (stream, headers) => {
      received.push(headers[":path"]);
      stream.respond({ ":status": 200 }, { endStream: true });
    };
    await client.decision;
    await using runtime = new FakeRuntime(world);
    expect(await runtime.request({ tenant, path, audience: "/x" })).toMatchObject({ status: 400 });
    expect(received).toEqual([]);
    expect(await runtime.request({ tenant, path: "t/http/localhost/1/x" })).toMatchObject({ status: 200 });
  });

  test.each(["/_/drain-tunnel", "//_/drain-tunnel", "/", "/x"])("%s is 400", async (path) => {
    await using world = await aWorld();
    await using runtime = new FakeRuntime(world);
    expect(await runtime.request({ tenant: world.tenant, path, audience: "/x" })).toMatchObject({ status: 400 });
  });
});

describe("T7: another environment's tunnel", () => {
  test("is refused at the proxy, whatever the caller signs, and its client gets no request", async () => {
    await using world = await aWorld();
    const { tenant: a, tenancy } = world;
    const b = aTenant(tenancy);
    await using client = await rawClient(world, credentials(b));
    const received: unknown[] = [];
    client.onStream = (stream, headers) => {
      received.push(headers[":path"]);
      stream.respond({ ":status": 200 }, { endStream: true });
    };
    await client.decision;
    await using runtime = new FakeRuntime(world);
    const place = `/${bareOf(b.facts.id)}/t/http/localhost/1/discover`;
    const foreign = await runtime.request({ tenant: a, path: place });
    expect(foreign.status).toBe(403);
    expect(JSON.parse(foreign.body)).toEqual({ code: 403, message: "tunnel belongs to another environment" });
    // With the right token but another environment's signature, and with an unknown token.
    expect(await runtime.request({ tenant: a, path: place, token: b.token })).toMatchObject({ status: 401 });
    for (const token of ["", "rt_nobody"])
      expect(await runtime.request({ tenant: b, path: place, token })).toMatchObject({ status: 401 });
    expect(received).toEqual([]);
    expect(await runtime.request({ tenant: b, path: place })).toMatchObject({ status: 200 });
  });

  test("a signature for another path is refused at the proxy", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    await client.decision;
    await using runtime = new FakeRuntime(world);
    const answer = await runtime.request({ tenant, path: "t/http/localhost/1/invoke/S/h", audience: "/invoke/S/other" });
    expect(answer).toMatchObject({ status: 401 });
  });

  test("all requests are refused while tenancy cannot authenticate callers", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    world.tenancy.isAway = true;
    await using runtime = new FakeRuntime(world);
    expect(await runtime.request({ tenant, path: "t/http/localhost/1/x" })).toMatchObject({
      status: 503,
      headers: { "retry-after": "5" },
    });
  });

  test("failed authentications of callers are summarised in the log", async () => {
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void lines.push(message) };
    await using world = await aWorld({}, { logger });
    world.tenancy.isAway = true;
    await using runtime = new FakeRuntime(world);
    for (let i = 0; i < 30; i++) await runtime.request({ tenant: world.tenant, path: "t/http/localhost/1/x" });
    expect(lines).toEqual(Array.from({ length: 20 }, () => "a caller could not be authenticated"));
    world.tenancy.isAway = false;
    await world.relay[Symbol.asyncDispose]();
    expect(lines.at(-1)).toBe("many lines of one kind");
  });
});

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
