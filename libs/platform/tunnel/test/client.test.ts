import { generateKeyPairSync } from "node:crypto";
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcp } from "node:net";
import type { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { type Clock, handleErrors, Secret, systemClock, systemRandom } from "@perdure/base";
import { createRequestIdentity } from "@perdure/endpoint-transport";
import { FRAME, headerBlock, http2Frame, http2ProtocolErrors } from "@perdure/testkit";
import {
  type ClientTunnel,
  DRAIN_PATH,
  HEALTH_PATH,
  HTTP_VERSION_HEADER,
  openTunnel,
  START_TUNNEL_PATH,
  type TunnelClientEvent,
  type TunnelOptions,
} from "../src/index.js";
import { HANDSHAKE_MS } from "../src/limits.js";
import { answerOf, type FakeConnection, FakeRelay, open, request } from "./fake-relay.js";

const ENVIRONMENT = "env_201k0yd4rz8yftmd4awh1bajg4v";
const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const identity = createRequestIdentity(new Secret(pem), systemClock);
const otherIdentity = createRequestIdentity(
  new Secret(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
  systemClock,
);

const END_STREAM = 1;
const END_HEADERS = 4;
/** A clock on which a client reconnects at once; handshakes keep their real timeout. */
const HURRIED: Clock = {
  ...systemClock,
  setTimer: (delayMs, fire) => systemClock.setTimer(delayMs === HANDSHAKE_MS ? delayMs : 0, fire),
};

function signed(path: string, by = identity): Record<string, string> {
  const headers: Record<string, string> = {};
  by.sign(headers, path, undefined);
  return headers;
}

const letIn = (hello: Readonly<Record<string, unknown>>) =>
  ({
    status: "ok",
    name: String(hello["tunnel-name"]),
    proxyUrl: "http://127.0.0.1:9080/x/t",
    tunnelUrl: "http://127.0.0.1:9090",
  }) as const;

interface Local extends AsyncDisposable {
  readonly port: number;
  readonly requests: { path: string; version: string; headers: Readonly<Record<string, unknown>> }[];
}

/** A local service that returns facts of the request, or echoes its body. */
async function aLocal(version: "h1" | "h2" = "h2"): Promise<Local> {
  const requests: Local["requests"] = [];
  const answer = (request: Pick<IncomingMessage, "url" | "headers" | "httpVersion">, response: unknown): void => {
    const out = response as ServerResponse;
    requests.push({ path: request.url ?? "", version: request.httpVersion, headers: request.headers });
    if (request.url?.startsWith("/redirect")) out.writeHead(302, { location: "http://127.0.0.1:1/elsewhere" }).end();
    else {
      out.writeHead(200, { "content-type": "text/plain", "x-of": "local" });
      (request as IncomingMessage).pipe(out);
    }
  };
  const server = version === "h2" ? createHttp2(answer) : createHttp1(answer);
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket: { destroy(): void }) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A tunnel and the events that it emitted. */
function aTunnel(relay: Pick<FakeRelay, "url">, set: Partial<TunnelOptions> = {}) {
  const events: TunnelClientEvent[] = [];
  const waiting: { kind: string; resolve: (event: TunnelClientEvent) => void }[] = [];
  const tunnel = openTunnel({
    environmentId: ENVIRONMENT,
    name: "t",
    servers: [relay.url],
    credential: async () => "key_secret",
    signingPublicKeys: [identity.publicKey],
    locals: [],
    clientVersion: "1.0",
    clock: systemClock,
    random: systemRandom,
    drainMs: 5_000,
    onEvent(event) {
      events.push(event);
      for (const one of waiting.filter(({ kind }) => kind === event.kind)) one.resolve(event);
    },
    ...set,
  });
  const next = (kind: TunnelClientEvent["kind"]): Promise<TunnelClientEvent> =>
    new Promise((resolve) => waiting.push({ kind, resolve }));
  return { tunnel, events, next, [Symbol.asyncDispose]: () => tunnel.close() };
}

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
    expect(() => aTunnel(relay, { signingPublicKeys: ["publickeyv1_x"] })).toThrow("no public key");
    expect(() => aTunnel(relay, { allow: ["ftp://x"] })).toThrow("cannot be allowed");
    expect(() => aTunnel(relay, { servers: ["ftp://x:1"] })).toThrow("no tunnel server");
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

describe("the lifecycle", () => {
  test("health is answered", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using _open = aTunnel(relay);
    expect(await request(await relay.next(), HEALTH_PATH)).toMatchObject({ status: 200, body: "" });
  });

  test("a connection that drains is replaced at once, and its requests finish", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal();
    await using tunnel = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }] });
    const first = await relay.next();
    const running = open(first.session, "/http/localhost/1/x", signed("/x"));
    running.write("begun ");
    await new Promise((resolve) => running.once("response", resolve));
    expect((await request(first, DRAIN_PATH)).status).toBe(200);
    const second = await relay.next();
    expect(second.hello["tunnel-connection-id"]).not.toBe(first.hello["tunnel-connection-id"]);
    const answer = answerOf(running);
    running.end("and done");
    first.session.close();
    await answer.catch(() => undefined); // It was answered before this listener was added: only the body counts.
    expect((await request(second, "/http/localhost/1/x", signed("/x"), "more")).body).toBe("more");
    expect(tunnel.events.map(({ kind }) => kind)).toContain("draining");
  });

  test("a broken connection is opened again", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using tunnel = aTunnel(relay);
    (await relay.next()).socket.destroy();
    const again = await relay.next();
    expect(await request(again, HEALTH_PATH)).toMatchObject({ status: 200 });
    expect(tunnel.events.map(({ kind }) => kind)).toContain("disconnected");
  });

  test("closing waits for requests in flight, refuses late ones, and leaves no connection", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal();
    const { tunnel } = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }] });
    const { session, socket } = await relay.next();
    const running = open(session, "/http/localhost/1/x", signed("/x"));
    const answer = answerOf(running);
    running.write("begun ");
    await new Promise((resolve) => running.once("response", resolve));
    const goaway = new Promise((resolve) => session.once("goaway", resolve));
    const closed = tunnel.close();
    await goaway;
    running.end("and done");
    expect((await answer).body).toBe("begun and done");
    await closed;
    expect(await tunnel.ended).toEqual({ kind: "closed" });
    if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
  });

  describe("half a request does not pass for a whole one when", () => {
    /** The bytes that a service receives of a request whose body is never complete. */
    async function halfARequest(
      version: "h1" | "h2",
      breaking: (tunnel: ClientTunnel, connection: FakeConnection) => Promise<void> | void,
    ) {
      const states: string[] = [];
      const closed = Promise.withResolvers<void>();
      const received = (body: Readable, isWhole: () => boolean): void => {
        handleErrors(body);
        body.on("data", (chunk: Buffer) => states.push(chunk.toString()));
        body.on("end", () => states.push(isWhole() ? "end" : "cut"));
        body.on("close", () => closed.resolve());
      };
      const server = version === "h2" ? createHttp2() : createHttp1();
      if (version === "h2") {
        server.on("stream", (stream: ServerHttp2Stream) => {
          stream.respond({ ":status": 200 });
          received(stream, () => true);
        });
      } else {
        server.on("request", (request: IncomingMessage, response: ServerResponse) => {
          response.writeHead(200).flushHeaders();
          received(request, () => request.complete);
        });
      }
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      await using relay = await FakeRelay.open(letIn);
      const { tunnel } = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port }], drainMs: 50 });
      const connection = await relay.next();
      const protocol = version === "h1" ? { [HTTP_VERSION_HEADER]: "HTTP/1.1" } : undefined;
      const request = open(connection.session, "/http/localhost/1/x", { ...signed("/x"), ...protocol });
      handleErrors(request);
      request.write("half");
      await new Promise((resolve) => request.once("response", resolve));
      await breaking(tunnel, connection);
      await closed.promise;
      await tunnel.close();
      server.close();
      return states;
    }

    test.each(["h1", "h2"] as const)("the tunnel is closed and it does not finish in time, over %s", async (version) => {
      expect(await halfARequest(version, (tunnel) => tunnel.close())).toEqual(["half"]);
    });

    test.each(["h1", "h2"] as const)("the connection to the relay breaks, over %s", async (version) => {
      expect(await halfARequest(version, (_tunnel, { socket }) => void socket.destroy())).toEqual(["half"]);
    });
  });

  test.each([
    ["resets it", (stream: ServerHttp2Stream) => stream.destroy(new Error("broken"))],
    ["loses its connection", (stream: ServerHttp2Stream) => stream.session?.socket.destroy()],
  ])("half an answer does not pass for a whole one when the local service %s", async (_how, breakIt) => {
    const server = createHttp2();
    server.on("stream", (stream: ServerHttp2Stream) => {
      handleErrors(stream);
      stream.respond({ ":status": 200 });
      stream.write("half", () => breakIt(stream));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await using relay = await FakeRelay.open(letIn);
    await using _tunnel = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port }] });
    const { session } = await relay.next();
    const request = open(session, "/http/localhost/1/x", signed("/x"));
    request.end("whole");
    const failed = new Promise<string | undefined>((resolve) =>
      handleErrors(request, ({ code }: NodeJS.ErrnoException) => resolve(code)),
    );
    request.resume();
    const ended = new Promise((resolve) => request.once("close", () => resolve("closed without an error")));
    expect(await Promise.race([failed, ended])).toBe("ERR_HTTP2_STREAM_ERROR");
    server.close();
  });

  test("the relays of a name's SRV records are connected", async () => {
    await using relay = await FakeRelay.open(letIn);
    const { port } = new URL(relay.url);
    await using tunnel = aTunnel(relay, {
      servers: undefined,
      srv: "tunnel.us.perdure.test",
      resolveSrv: async () => [{ name: "127.0.0.1", port: Number(port) }],
    });
    const event = await tunnel.next("disconnected");
    expect(event).toMatchObject({ kind: "disconnected", server: `tls://127.0.0.1:${port}` });
  });

  test("a failed SRV look-up is reported and repeated", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using tunnel = aTunnel(relay, {
      servers: undefined,
      srv: "nowhere.test",
      resolveSrv: () => Promise.reject(new Error("SERVFAIL")),
    });
    expect(await tunnel.next("resolveFailed")).toEqual({ kind: "resolveFailed", srv: "nowhere.test", reason: "SERVFAIL" });
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

const requestFor = (path: string): Buffer =>
  http2Frame(
    FRAME.headers,
    END_STREAM | END_HEADERS,
    1,
    headerBlock({ ":method": "GET", ":scheme": "http", ":path": path, ":authority": "a" }),
  );

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
