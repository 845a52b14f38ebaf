/** Conventions of every route (admin-api.md §1), over real sockets. */

import { connect as connectHttp2, constants, createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { afterEach, describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { createHttpPort } from "@perdure/http-server";
import { createTestRegistry } from "@perdure/registry/testing";
import type { RequestListener } from "../src/http/server.js";
import type { Sql } from "../src/index.js";
import { createTestAdminApi, startHttp2Server, startServer, type TestAdminSetup, type TestServer } from "../src/testing/index.js";
import { recorder } from "./recorder.js";

let server: TestServer | undefined;
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function open(setup: Partial<TestAdminSetup> = {}): Promise<TestServer> {
  server = await startServer(createTestAdminApi({ registry: await createTestRegistry(), ...setup }));
  return server;
}

function rows(...chunks: string[]): Sql {
  return async () => ({
    kind: "rows",
    chunks: (async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk);
    })(),
  });
}

describe("generations of the path", () => {
  test.each(["", "/v2", "/v3", "/v4"])("%s/version is served", async (prefix) => {
    const { send } = await open();
    expect((await send("GET", `${prefix}/version`)).json()).toMatchObject({ version: "1.7.12", max_admin_api_version: 4 });
  });

  test.each(["/v1", "/v1/services", "/v1/"])("%s is refused with the versions that are served", async (path) => {
    const { send } = await open();
    const answer = await send("GET", path);
    expect(answer.status).toBe(400);
    expect(answer.json()).toEqual({
      message: "Unsupported Admin API version V1. This server supports versions between V2 and V4.",
      restate_code: null,
    });
  });

  test.each(["/v5/version", "/v0/version", "/v02/version", "/V2/version", "/v2/v3/nope", "/Version", "/version/", "/v2/"])(
    "%s is unknown",
    async (path) => {
      const { send } = await open();
      const answer = await send("GET", path);
      expect(answer.status).toBe(path === "/v2/" ? 308 : 404);
    },
  );

  test("a bare prefix leads to the web UI", async () => {
    const { send } = await open();
    for (const path of ["/", "/ui", "/v2", "/v4?x=1"]) {
      const answer = await send("GET", path);
      expect([answer.status, answer.headers.location]).toEqual([308, "/ui/"]);
      for (const method of ["OPTIONS", "POST", "DELETE"]) {
        const refused = await send(method, path);
        expect([refused.status, refused.headers.allow, refused.headers.location]).toEqual([405, "GET,HEAD", undefined]);
      }
    }
  });
});

describe("bodies", () => {
  test("a body above the bound is refused while it is read", async () => {
    const { send } = await open();
    const huge = JSON.stringify({ query: "x".repeat(1024 * 1024) });
    const answer = await send("POST", "/query", huge, { "content-type": "application/json", "transfer-encoding": "chunked" });
    expect(answer.status).toBe(413);
    expect(answer.json()).toMatchObject({ restate_code: null });
  });

  test("a body that is announced as too long is refused before it arrives", async () => {
    const { send } = await open();
    const headers = { "content-type": "application/json", "content-length": "99000000", expect: "100-continue" };
    expect((await send("POST", "/query", undefined, headers)).status).toBe(413);
  });

  test("a name of a Kafka cluster that is too long for a key is the caller's mistake", async () => {
    const { send } = await open();
    const properties = { "bootstrap.servers": "a:1" };
    expect((await send("POST", "/kafka-clusters", { name: "n".repeat(513), properties })).status).toBe(422);
    expect((await send("POST", "/kafka-clusters", { name: "n".repeat(512), properties })).status).toBe(201);
  });

  test("a name of a Kafka cluster is one that sources can name", async () => {
    const { send } = await open();
    const properties = { "bootstrap.servers": "a:1" };
    const statusOf = async (name: string) => (await send("POST", "/kafka-clusters", { name, properties })).status;
    for (const name of ["a/b", "a?b", "a#b", "a b", "\u00fc", "a\n"]) expect(await statusOf(name)).toBe(422);
    for (const name of ["bad_name!", "a.b-c:9092"]) expect(await statusOf(name)).toBe(201);
  });

  test("types that end in +json are JSON", async () => {
    const { send } = await open({ sql: rows("{}") });
    expect((await send("POST", "/query", '{"query":"select 1"}', { "content-type": "application/vnd.x+json" })).status).toBe(200);
    expect((await send("POST", "/query", '{"query":"select 1"}', { "content-type": "application/jsonx" })).status).toBe(415);
  });

  test("a body that is not UTF-8 is refused, not stored as something else", async () => {
    const { send } = await open();
    const body = (name: string) => Buffer.from(JSON.stringify({ name, properties: { "bootstrap.servers": "a:1" } }), "latin1");
    const headers = { "content-type": "application/json" };
    const refused = await send("POST", "/kafka-clusters", body("k\u00fc"), headers);
    expect([refused.status, refused.json()]).toEqual([
      400,
      { message: "Failed to parse the request body as JSON: it is not UTF-8", restate_code: null },
    ]);
    expect((await send("GET", "/kafka-clusters")).json()).toEqual({ clusters: [] });
    expect((await send("POST", "/kafka-clusters", body("ku"), headers)).status).toBe(201);
  });

  test("what is wrong with a body is named by its path", async () => {
    const { send } = await open();
    const answer = await send("PUT", "/limits/rules", [{ pattern: "ok" }, { pattern: "ok", limits: { concurrency: 0 } }]);
    expect(answer.status).toBe(422);
    expect(answer.json<{ message: string }>().message).toContain("[1].limits.concurrency");
  });

  test("a path that is not percent-encoded UTF-8 is 400", async () => {
    const { send } = await open();
    expect((await send("GET", "/services/%ff")).status).toBe(400);
  });
});

describe("compression", () => {
  const decoders = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync, deflate: inflateSync } as const;

  test.each(Object.keys(decoders) as (keyof typeof decoders)[])("%s, when accepted", async (encoding) => {
    const { send } = await open();
    const plain = await send("GET", "/version");
    const packed = await send("GET", "/version", undefined, { "accept-encoding": encoding });
    expect(packed.headers["content-encoding"]).toBe(encoding);
    expect(packed.headers["content-length"]).toBeUndefined();
    expect(decoders[encoding](packed.body).toString()).toBe(plain.text);
  });

  test.each([
    ["gzip, br, zstd", "zstd"],
    ["gzip, br", "br"],
    ["gzip;q=1, zstd;q=0.5", "gzip"],
    ["zstd;q=0, gzip", "gzip"],
    ["*", "zstd"],
    ["*, zstd;q=0", "br"],
    ["identity, gzip;q=0.5", undefined],
    ["compress", undefined],
    ["gzip;q=x", undefined],
    ["", undefined],
  ])("accept-encoding %p gives %p", async (accepted, expected) => {
    const { send } = await open();
    const answer = await send("GET", "/version", undefined, { "accept-encoding": accepted });
    expect(answer.headers["content-encoding"]).toBe(expected);
    expect(answer.headers["vary"]).toBe("accept-encoding");
  });

  test("a stream is compressed too, HEAD and short answers are not", async () => {
    const { send } = await open({ sql: rows('{"rows":[', "]}") });
    const query = await send("POST", "/query", { query: "q" }, { "accept-encoding": "gzip", accept: "application/json" });
    expect(gunzipSync(query.body).toString()).toBe('{"rows":[]}');
    const head = await send("HEAD", "/version", undefined, { "accept-encoding": "gzip" });
    expect(head.headers["content-encoding"]).toBeUndefined();
    expect(Number(head.headers["content-length"])).toBeGreaterThan(100);
    expect(head.text).toBe("");
    expect(
      (await send("GET", "/services", undefined, { "accept-encoding": "gzip" })).headers["content-encoding"],
    ).toBeUndefined();
  });
});

test("unexpected errors are logged in full and answered without details", async () => {
  const errors: string[] = [];
  const { send } = await open({
    logger: recorder(errors),
    metrics: () => {
      throw new Error("password is hunter2");
    },
  });
  const answer = await send("GET", "/metrics");
  expect(answer.status).toBe(500);
  expect(answer.json()).toEqual({ message: "[OPS0003] internal error", restate_code: "OPS0003" });
  expect(errors).toEqual(["request failed"]);
});

test.each([
  [{ live: true, ready: true, waitingFor: [] }, 200, 200, undefined],
  [{ live: true, ready: false, waitingFor: ["worker", "admin API"] }, 200, 503, "not ready: waiting for worker, admin API"],
  [{ live: false, ready: false, waitingFor: [] }, 503, 503, "not ready"],
])("probes report %j", async (report, livez, readyz, message) => {
  const { send } = await open({ health: () => report });
  expect((await send("GET", "/livez")).status).toBe(livez);
  const answer = await send("GET", "/readyz");
  expect(answer.status).toBe(readyz);
  if (message !== undefined) expect(answer.json()).toEqual({ message, restate_code: null });
});

test("a server without commits is alive and not ready", async () => {
  const { send } = await open({ isCommitting: () => Promise.resolve(false) });
  expect((await send("GET", "/livez")).status).toBe(200);
  const answer = await send("GET", "/readyz");
  expect(answer.status).toBe(503);
  expect(answer.json()).toEqual({ message: "not ready: waiting for a durable commit", restate_code: null });
});

test("metrics are text in the exposition format", async () => {
  const { send } = await open({ metrics: async () => "perdure_up 1\n" });
  const answer = await send("GET", "/metrics");
  expect(answer.text).toBe("perdure_up 1\n");
  expect(answer.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
});

test("everything works over HTTP/2 as well, and every stream is ended", async () => {
  // Disposing waits for the streams of the session: a stream that is left open fails the test.
  await using http2 = await startHttp2Server(
    createTestAdminApi({ registry: await createTestRegistry(), sql: rows('{"rows":[', "1]}") }),
  );
  expect((await http2.send("GET", "/v3/version")).json()).toMatchObject({ min_admin_api_version: 2 });
  expect((await http2.send("HEAD", "/version")).text).toBe("");
  expect((await http2.send("GET", "/health")).status).toBe(200);
  const gone = await http2.send("GET", "/services/Nope");
  expect([gone.status, gone.json()]).toEqual([
    404,
    { message: "The requested service 'Nope' does not exist", restate_code: null },
  ]);
  const wrong = await http2.send("DELETE", "/services");
  expect([wrong.status, wrong.headers["allow"]]).toEqual([405, "GET,HEAD"]);
  expect((await http2.send("GET", "/v2")).headers["location"]).toBe("/ui/");
  const query = await http2.send("POST", "/query", { query: "q" }, { accept: "application/json", "accept-encoding": "zstd" });
  expect(zstdDecompressSync(query.body).toString()).toBe('{"rows":[1]}');
  expect((await http2.send("POST", "/query", "{", { "content-type": "application/json" })).status).toBe(400);
});

test.each([
  ["the handler itself", (listener: RequestListener) => createHttp2Server(listener)],
  [
    "the listener of the process",
    (listener: RequestListener) => createHttpPort({ request: listener }, { clock: systemClock, logger: silentLogger }),
  ],
])(
  "an HTTP/2 stream is over when the answer is, though the body continues: %s",
  async (_which, serverOf) => {
    const server = serverOf(createTestAdminApi({ registry: await createTestRegistry() }));
    const streams: ServerHttp2Stream[] = [];
    let port: number;
    if ("on" in server) {
      server.on("stream", (stream) => streams.push(stream));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      port = (server.address() as AddressInfo).port;
    } else port = (await server.listen({ host: "127.0.0.1", port: 0 })).port;
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    for (const [path, status] of [
      ["/query", 413],
      ["/nothing/here", 404],
      ["/schedules", 415],
    ] as const) {
      const contentType = status === 415 ? "text/plain" : "application/json";
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": contentType });
      let received: number | undefined;
      stream.on("response", (headers) => {
        received = headers[":status"];
      });
      stream.on("error", () => undefined); // This test writes to a stream that has ended.
      const sending = setInterval(() => stream.writableLength < 1e6 && stream.write(Buffer.alloc(64 * 1024)), 1); // Never ended.
      await new Promise((resolve) => stream.on("end", resolve).on("close", resolve).resume());
      clearInterval(sending);
      while (!stream.closed) await new Promise((resolve) => setTimeout(resolve, 5)); // The server closes it.
      expect([path, received, stream.rstCode]).toEqual([path, status, constants.NGHTTP2_NO_ERROR]);
      stream.destroy();
    }
    while (!streams.every(({ destroyed }) => destroyed)) await new Promise((resolve) => setTimeout(resolve, 5));
    session.destroy();
    if ("on" in server) await new Promise<void>((resolve) => server.close(() => resolve()));
    else await server.close(0);
  },
  20_000,
);
