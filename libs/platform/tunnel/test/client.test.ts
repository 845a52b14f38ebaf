import { createServer as createHttp1 } from "node:http";
import { constants, createServer as createHttp2 } from "node:http2";
import { type AddressInfo, createServer as createTcp } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { type Clock, Secret, systemClock } from "@perdure/base";
import { createRequestIdentity } from "@perdure/endpoint-transport";
import { http2ProtocolErrors } from "@perdure/testkit";
import { DRAIN_PATH, HEALTH_PATH, HTTP_VERSION_HEADER, START_TUNNEL_PATH } from "../src/index.js";
import {
  aLocal,
  aTunnel,
  ENVIRONMENT,
  HURRIED,
  identity,
  letIn,
  otherIdentity,
  pem,
  requestFor,
  signed,
} from "./client-world.js";
import { FakeRelay, open, request } from "./fake-relay.js";

describe("the handshake", () => {
  test("sends its identity and its ports, and is ready with the relay's answer", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using open = aTunnel(relay, { locals: [{ tunnelPort: 9080, host: "127.0.0.1", port: 1 }], workerId: "w" });
    const { hello } = await relay.next();
    expect(hello).toMatchObject({
      ":status": 200,
      authorization: "Bearer key_secret",
      "environment-id": ENVIRONMENT,
      "tunnel-name": "t",
      "supports-drain": "true",
      "supports-client-drain": "true",
      "tunnel-client": "perdure/1.0",
      "tunnel-worker-id": "w",
      "tunnel-ports": "9080",
    });
    expect(await open.tunnel.ready).toEqual({ name: "t", proxyUrl: "http://127.0.0.1:9080/x/t" });
    expect(open.tunnel.connections).toBe(1);
  });

  test.each(["unauthorized", "bad-tunnel-name", "too-many-tunnels"] as const)(
    "ends when the relay answers %s",
    async (status) => {
      await using relay = await FakeRelay.open(() => ({ status }));
      await using open = aTunnel(relay);
      expect(await open.tunnel.ended).toEqual({ kind: "refused", status });
      expect(await open.tunnel.ready).toBeUndefined();
      expect(open.events.at(-1)).toEqual({ kind: "refused", status });
    },
  );

  test("ends when the relay assigns another name", async () => {
    await using relay = await FakeRelay.open(() => letIn({ "tunnel-name": "other" }));
    await using open = aTunnel(relay);
    expect(await open.tunnel.ended).toEqual({ kind: "refused", status: "name-changed" });
  });

  test("retries with growing pauses while no relay listens", async () => {
    const gone = await FakeRelay.open(letIn);
    await gone[Symbol.asyncDispose]();
    await using open = aTunnel(gone);
    for (let i = 0; i < 4; i++) await open.next("disconnected");
    const waits = open.events.flatMap((event) => (event.kind === "disconnected" ? [event.retryInMs] : []));
    for (const [i, waitMs] of waits.entries()) {
      expect(waitMs).toBeLessThanOrEqual(20 * 2 ** i);
    }
  });

  test("refuses options that are not valid", async () => {
    await using relay = await FakeRelay.open(letIn);
    expect(() => aTunnel(relay, { name: "_x" })).toThrow("cannot be the name");
    expect(() => aTunnel(relay, { servers: undefined })).toThrow("either tunnel servers or");
    expect(() => aTunnel(relay, { signingPublicKeys: ["publickeyv1_x"] })).toThrow("is not a public key");
    expect(() => aTunnel(relay, { allow: ["ftp://x"] })).toThrow("cannot be allowed");
    expect(() => aTunnel(relay, { servers: ["ftp://x:1"] })).toThrow("is not a tunnel server");
  });
});

describe("requests", () => {
  test.each([
    { version: "h2", headers: {}, expected: "2.0" },
    { version: "h2", headers: { [HTTP_VERSION_HEADER]: "HTTP/2.0" }, expected: "2.0" },
    { version: "h1", headers: { [HTTP_VERSION_HEADER]: "HTTP/1.1" }, expected: "1.1" },
  ] as const)("go to the local service in $version with the headers $headers", async ({ version, headers, expected }) => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal(version);
    await using _open = aTunnel(relay, { locals: [{ tunnelPort: 9080, host: "127.0.0.1", port: local.port }] });
    const connection = await relay.next();
    const path = "/http/localhost/9080/invoke/S/h?q=1";
    const answer = await request(connection, path, { ...signed("/invoke/S/h"), ...headers, "x-mine": "1" }, "hello");
    expect(answer).toMatchObject({ status: 200, body: "hello", headers: { "x-of": "local" } });
    expect(local.requests).toMatchObject([{ path: "/invoke/S/h?q=1", version: expected, headers: { "x-mine": "1" } }]);
    expect(local.requests[0]?.headers["x-restate-jwt-v1"]).toBeDefined();
  });

  test("stream both ways before either side has ended", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal();
    await using tunnel = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }] });
    const { session } = await relay.next();
    const stream = open(session, "/http/localhost/1/discover", signed("/discover"));
    const replies: string[] = [];
    stream.setEncoding("utf8");
    for (const text of ["one", "two", "three"]) {
      const said = new Promise<void>((resolve) => stream.once("data", (chunk: string) => resolve(void replies.push(chunk))));
      stream.write(text);
      await said;
    }
    expect(tunnel.tunnel.inFlight).toBe(1);
    stream.end();
    await new Promise((resolve) => stream.on("close", resolve));
    expect(replies).toEqual(["one", "two", "three"]);
  });

  test("that a service answers and resets without an error before their end, get the whole answer, and their rest is discarded", async () => {
    const bytes = 500_000; // More than a window.
    const server = createHttp2();
    server.on("stream", (stream) => {
      stream.respond({ ":status": 200 });
      stream.once("finish", () => {
        stream.close(constants.NGHTTP2_NO_ERROR);
        setImmediate(() => stream.destroy()); // Without this Node waits until the request has been read.
      });
      stream.end(new Uint8Array(bytes));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await using relay = await FakeRelay.open(letIn);
    const { port } = server.address() as AddressInfo;
    await using _open = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port }] });
    const { session } = await relay.next();
    const stream = open(session, "/http/localhost/1/x", signed("/x"));
    let received = 0;
    stream.on("data", (chunk: Uint8Array) => {
      received += chunk.length;
    });
    const closed = new Promise((resolve) => stream.on("close", resolve));
    await new Promise<void>((resolve) => stream.write(new Uint8Array(3_000_000), () => resolve()));
    stream.end();
    await closed;
    expect([received, stream.rstCode]).toEqual([bytes, constants.NGHTTP2_NO_ERROR]);
    server.close();
  });

  test("a redirect is passed on, not followed", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal();
    await using _open = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }] });
    const answer = await request(await relay.next(), "/http/localhost/1/redirect", signed("/redirect"));
    expect(answer).toMatchObject({ status: 302, headers: { location: "http://127.0.0.1:1/elsewhere" } });
    expect(local.requests).toHaveLength(1);
  });

  test("are 502 when the local service is unavailable", async () => {
    await using relay = await FakeRelay.open(letIn);
    const gone = await aLocal();
    await gone[Symbol.asyncDispose]();
    await using _open = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: gone.port }] });
    const connection = await relay.next();
    for (const headers of [{}, { [HTTP_VERSION_HEADER]: "HTTP/1.1" }]) {
      const answer = await request(connection, "/http/localhost/1/discover", { ...signed("/discover"), ...headers });
      expect(answer.status).toBe(502);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 502, message: expect.stringContaining("does not answer") });
    }
  });

  test("T27: a destination that is not allowed is 403, and no connection is opened", async () => {
    await using relay = await FakeRelay.open(letIn);
    let connections = 0;
    const inside = createTcp(() => connections++);
    await new Promise<void>((resolve) => inside.listen(0, "127.0.0.1", resolve));
    const { port } = inside.address() as AddressInfo;
    await using local = await aLocal();
    await using _open = aTunnel(relay, { locals: [{ tunnelPort: 9080, host: "127.0.0.1", port: local.port }] });
    const connection = await relay.next();
    for (const place of [`http/127.0.0.1/${port}`, `http/localhost/${port}`, `https/localhost/${port}`, `http/10.0.0.1/80`]) {
      const answer = await request(connection, `/${place}/discover`, signed("/discover"));
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 403 });
    }
    expect(connections).toBe(0);
    await new Promise<void>((resolve) => inside.close(() => resolve()));
  });

  test("a destination that is allowed by its origin is reached", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal();
    await using _open = aTunnel(relay, { allow: [`http://127.0.0.1:${local.port}`] });
    const answer = await request(await relay.next(), `/http/127.0.0.1/${local.port}/discover`, signed("/discover"));
    expect(answer.status).toBe(200);
  });

  test("are 401 unless this environment signed them for this path, now", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal();
    const slowClock: Clock = { ...systemClock, nowMs: () => Date.now() - 3_600_000 };
    const long = createRequestIdentity(new Secret(pem), slowClock);
    await using _open = aTunnel(relay, {
      locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }],
      signingPublicKeys: [identity.publicKey, `publickeyv1_${"1".repeat(31)}2`],
    });
    const connection = await relay.next();
    const cases: Readonly<Record<string, string>>[] = [
      {},
      signed("/discover", otherIdentity),
      signed("/discover", long),
      signed("/invoke/Other/h"),
      { ...signed("/discover"), "x-restate-signature-scheme": "unsigned" },
      { ...signed("/discover"), "x-restate-jwt-v1": "a.b.c" },
    ];
    for (const headers of cases) expect((await request(connection, "/http/localhost/1/discover", headers)).status).toBe(401);
    expect(local.requests).toEqual([]);
    expect((await request(connection, "/http/localhost/1/base/discover", signed("/discover"))).status).toBe(200);
  });

  test.each(["/http/localhost", "/ftp/localhost/1/x", "//localhost/1", "/http/localhost/1/%2e%2e/x", "/_/other"])(
    "are 400 when their path is %s",
    async (path) => {
      await using relay = await FakeRelay.open(letIn);
      await using _open = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: 1 }] });
      expect((await request(await relay.next(), path, signed("/x"))).status).toBe(400);
    },
  );

  test("are 400 when they name another version of HTTP", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using _open = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: 1 }] });
    const headers = { ...signed("/x"), [HTTP_VERSION_HEADER]: "HTTP/3" };
    expect((await request(await relay.next(), "/http/localhost/1/x", headers)).status).toBe(400);
  });
});

test("T26: a local service that answers with a status that HTTP/2 does not have fails only its own request", async () => {
  const local = createHttp1((_request, response) => response.writeHead(700).end());
  await new Promise<void>((resolve) => local.listen(0, "127.0.0.1", resolve));
  const { port } = local.address() as AddressInfo;
  await using relay = await FakeRelay.open(letIn);
  await using _open = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port }] });
  const connection = await relay.next();
  const headers = { ...signed("/x"), [HTTP_VERSION_HEADER]: "HTTP/1.1" };
  expect((await request(connection, "/http/localhost/1/x", headers)).status).toBe(502);
  expect((await request(connection, HEALTH_PATH)).status).toBe(200);
  local.closeAllConnections();
  await new Promise<void>((resolve) => local.close(() => resolve()));
});

describe("T26: a relay that breaks HTTP/2 right behind its request", () => {
  test.each([HEALTH_PATH, DRAIN_PATH, START_TUNNEL_PATH, "/http/localhost/1/x"])(
    "loses that connection, and the client dials again: %s",
    async (path) => {
      const connections = http2ProtocolErrors.map(({ frames }) => Buffer.concat(frames("a", requestFor(path))));
      const dialledOften = Promise.withResolvers<void>();
      const server = createTcp((socket) => {
        socket.on("error", () => undefined);
        const bytes = connections.pop();
        if (bytes === undefined) return dialledOften.resolve();
        socket.end(bytes);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await using _open = aTunnel({ url }, { clock: HURRIED });
      await dialledOften.promise;
      server.close();
    },
  );
});
