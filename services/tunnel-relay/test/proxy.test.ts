import { request as httpRequest } from "node:http";
import { type ClientHttp2Stream, constants } from "node:http2";
import { describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { bareOf } from "@perdure/cloud";
import { until } from "@perdure/testkit";
import { HTTP_VERSION_HEADER, RUNTIME_TOKEN_HEADER } from "@perdure/tunnel";
import { aTenant, aWorld, credentials, FakeRuntime, hurried, ownClient, rawClient } from "./fixture.js";
import { aServed } from "./local.js";

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

  test("gets a whole answer from a client that resets without an error before the request has ended", async () => {
    await using world = await aWorld();
    const { tenant } = world;
    await using client = await rawClient(world, credentials(tenant));
    const bytes = 500_000; // More than the windows of both connections.
    client.onStream = (stream) => {
      stream.on("error", () => undefined);
      stream.respond({ ":status": 200 });
      stream.end(new Uint8Array(bytes), () => stream.close(constants.NGHTTP2_NO_ERROR));
    };
    await client.decision;
    await using runtime = new FakeRuntime(world);
    const stream = runtime.open({ tenant, path: "t/http/localhost/1/x" });
    const more = setInterval(() => {
      if (!stream.closed && !stream.writableNeedDrain) stream.write(new Uint8Array(20_000));
    }, 2);
    let received = 0;
    stream.on("data", (chunk: Uint8Array) => {
      received += chunk.length;
    });
    await new Promise((resolve) => stream.on("end", resolve));
    clearInterval(more);
    expect([received, stream.rstCode]).toEqual([bytes, constants.NGHTTP2_NO_ERROR]);
    stream.end();
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
