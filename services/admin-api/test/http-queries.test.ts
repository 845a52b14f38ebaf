/** SQL queries over the admin API: formats, limits and errors. */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { createTestRegistry } from "@perdure/registry/testing";
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

describe("queries", () => {
  test.each([
    ["application/json", "json"],
    ["Application/JSON", "arrow"],
    ["application/json;q=1", "arrow"],
    ["application/json, text/plain", "arrow"],
    ["*/*", "arrow"],
  ])("accept %p selects %s", async (accept, format) => {
    const formats: string[] = [];
    const { send } = await open({
      sql: async (query, requestedFormat, signal) => {
        formats.push(requestedFormat);
        return rows(query)(query, requestedFormat, signal);
      },
    });
    const answer = await send("POST", "/query", { query: "select 1" }, { accept });
    expect(formats).toEqual([format]);
    expect(answer.text).toBe("select 1");
    expect(answer.headers["content-type"]).toBe(format === "json" ? "application/json" : "application/vnd.apache.arrow.stream");
    expect(answer.headers["transfer-encoding"]).toBe("chunked");
  });

  test.each([
    ["invalid", 400],
    ["failed", 500],
    ["unavailable", 503],
    ["busy", 429],
  ] as const)("a refusal as %s is %i and has no code", async (reason, status) => {
    const { send } = await open({
      sql: async () => ({ kind: "refused", reason, message: "why", retryAfterSeconds: reason === "busy" ? 7 : undefined }),
    });
    const answer = await send("POST", "/query", { query: "x" });
    expect(answer.status).toBe(status);
    expect(answer.json()).toEqual({ message: "why", restate_code: null });
    expect(answer.headers["retry-after"]).toBe(reason === "busy" ? "7" : undefined);
  });

  test("a stream that fails midway is reset, so that no client takes a part for the whole", async () => {
    const warnings: string[] = [];
    const { send } = await open({
      logger: recorder(warnings),
      sql: async () => ({
        kind: "rows",
        chunks: (async function* () {
          yield Buffer.from('{"rows":[');
          await new Promise((resolve) => setImmediate(resolve));
          throw new Error("disk on fire");
        })(),
      }),
    });
    await expect(send("POST", "/query", { query: "x" })).rejects.toThrow(/aborted|socket hang up|ECONNRESET/);
    expect(warnings).toEqual(["response was cut off"]);
  });

  test("a client that disconnects amid the rows causes no warning", async () => {
    const warnings: string[] = [];
    const ended = Promise.withResolvers<void>();
    const { port } = await open({
      logger: { ...silentLogger, warn: (_fields, message) => warnings.push(message) },
      sql: async () => ({
        kind: "rows",
        chunks: (async function* () {
          try {
            for (;;) {
              yield Buffer.alloc(65_536, 32);
              await new Promise((resolve) => setImmediate(resolve));
            }
          } finally {
            ended.resolve();
          }
        })(),
      }),
    });
    const outgoing = httpRequest({ port, method: "POST", path: "/query", headers: { "content-type": "application/json" } });
    outgoing.on("response", (answer) => answer.once("data", () => answer.destroy())).on("error", () => undefined);
    outgoing.end(JSON.stringify({ query: "x" }));
    await ended.promise;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(warnings).toEqual([]);
  });

  test("rows are produced no faster than the client reads them", async () => {
    const CHUNKS = 1000;
    let produced = 0;
    const { port } = await open({
      sql: async () => ({
        kind: "rows",
        chunks: (async function* () {
          while (produced < CHUNKS) {
            produced++;
            yield Buffer.alloc(65_536, 32);
            await new Promise((resolve) => setImmediate(resolve));
          }
        })(),
      }),
    });
    const outgoing = httpRequest({ port, method: "POST", path: "/query", headers: { "content-type": "application/json" } });
    outgoing.end(JSON.stringify({ query: "x" }));
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    let before = -1;
    while (produced !== before) {
      before = produced;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(produced).toBeLessThan(CHUNKS / 2);
    let bytes = 0;
    for await (const chunk of answer) bytes += (chunk as Buffer).length;
    expect(bytes).toBe(CHUNKS * 65_536);
  });

  test("a client that disconnects ends the query", async () => {
    const aborted = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const { port } = await open({
      sql: async (_query, _format, signal) => {
        signal.addEventListener("abort", () => aborted.resolve());
        started.resolve();
        await aborted.promise;
        return { kind: "refused", reason: "failed", message: "aborted", retryAfterSeconds: undefined };
      },
    });
    const socket = connect(port, "127.0.0.1");
    socket.write('POST /query HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"query":"q"}');
    await started.promise;
    socket.destroy();
    await aborted.promise;
  });
});

test.each(["identity", "gzip"])("a stream that fails midway is reset over HTTP/2 (%s)", async (encoding) => {
  const sql: Sql = async () => ({
    kind: "rows",
    chunks: (async function* () {
      yield Buffer.from('{"rows":[');
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error("disk on fire");
    })(),
  });
  await using http2 = await startHttp2Server(createTestAdminApi({ registry: await createTestRegistry(), sql }));
  const session = connectHttp2(`http://127.0.0.1:${http2.port}`);
  const stream = session.request({
    ":method": "POST",
    ":path": "/query",
    "content-type": "application/json",
    "accept-encoding": encoding,
  });
  stream.on("error", () => undefined).resume();
  stream.end(JSON.stringify({ query: "q" }));
  await new Promise((resolve) => stream.once("close", resolve));
  expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  session.destroy();
});
