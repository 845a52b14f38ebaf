/** A request that a runtime could read differently than the gateway is refused, and reaches no runtime (cloud.md §6.5, §7 T3). */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentFacts } from "@perdure/cloud";
import { type GatewayFixture, hostOf, startGateway, startRuntime, type TestRuntime } from "./fixture.js";
import { exchangeRaw, statusesIn } from "./raw.js";

let runtime: TestRuntime;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
let key: string;
beforeAll(async () => {
  runtime = await startRuntime();
  fixture = await startGateway();
  facts = fixture.environment(runtime);
  key = fixture.tenancy.addKey(facts.id, "rst:role::FullAccess");
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
});

const request = (lines: readonly string[], body = "", start = "POST /S/h HTTP/1.1"): string =>
  `${[start, `host: ${hostOf(facts)}`, `authorization: Bearer ${key}`, ...lines].join("\r\n")}\r\n\r\n${body}`;
const HIDDEN = "POST /Hidden/call HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";

const corpus: readonly (readonly [name: string, bytes: () => string])[] = [
  ["a length and chunks", () => request(["content-length: 4", "transfer-encoding: chunked"], `0\r\n\r\n${HIDDEN}`)],
  ["chunks and a length", () => request(["transfer-encoding: chunked", "content-length: 4"], `0\r\n\r\n${HIDDEN}`)],
  ["two lengths that differ", () => request(["content-length: 0", "content-length: 5"], "12345")],
  ["two lengths that agree", () => request(["content-length: 1", "content-length: 1"], "1")],
  ["a list of lengths", () => request(["content-length: 1, 1"], "1")],
  ["a length with a sign", () => request(["content-length: +1"], "1")],
  ["a length in hex", () => request(["content-length: 0x1"], "1")],
  ["an unknown encoding", () => request(["transfer-encoding: xchunked"], `0\r\n\r\n${HIDDEN}`)],
  ["chunked behind another", () => request(["transfer-encoding: gzip, chunked"], `0\r\n\r\n${HIDDEN}`)],
  ["chunked twice", () => request(["transfer-encoding: chunked", "transfer-encoding: chunked"], `0\r\n\r\n${HIDDEN}`)],
  ["identity and chunked", () => request(["transfer-encoding: identity", "transfer-encoding: chunked"], `0\r\n\r\n${HIDDEN}`)],
  ["a blank before the colon", () => request(["transfer-encoding : chunked"], `0\r\n\r\n${HIDDEN}`)],
  ["a folded header", () => request(["x-a: 1\r\n folded"])],
  ["bare LF behind a header", () => request([]).replaceAll("\r\n", "\n")],
  ["bare CR in a header", () => request(["x-a: 1\rx-b: 2"])],
  ["a NUL in a header", () => request(["x-a: 1\0"])],
  ["a chunk size that is none", () => request(["transfer-encoding: chunked"], `0x0\r\n\r\n${HIDDEN}`)],
  ["a chunk size with a sign", () => request(["transfer-encoding: chunked"], `-1\r\n\r\n${HIDDEN}`)],
  ["a chunk that ends without CRLF", () => request(["transfer-encoding: chunked"], `1\r\naX0\r\n\r\n${HIDDEN}`)],
  ["a chunk size ended by bare LF", () => request(["transfer-encoding: chunked"], `1\na\n0\n\n${HIDDEN}`)],
  ["two hosts", () => request(["host: other"])],
  ["a target of another authority", () => request([], "", "POST http://other/S/h HTTP/1.1")],
  ["a target that is not a path", () => request([], "", "OPTIONS * HTTP/1.1")],
  ["a fragment", () => request([], "", "GET /S/h#x HTTP/1.1")],
  ["a fragment that makes others read slashes", () => request([], "", "GET /internal\\usage# HTTP/1.1")],
  ["a tunnel", () => request([], "", "CONNECT other:443 HTTP/1.1")],
  ["a method that is none", () => request([], "", "G\u00cbT /S/h HTTP/1.1")],
  ["a version that is none", () => request([], "", "GET /S/h HTTP/1.10")],
  ["no host", () => "GET /S/h HTTP/1.1\r\n\r\n"],
  ["words", () => "hello, is this HTTP?\r\n\r\n"],
];

test.each(corpus)("T3: %s: refused in JSON, the connection closed or clean, and no runtime receives it", async (_name, bytes) => {
  const requestsBefore = runtime.requests.length;
  const { received } = await exchangeRaw(fixture.ports.ingress, bytes(), {
    done: (text) => /\r\n\r\n\{[^}]*\}$/.test(text),
    timeoutMs: 2_000,
  });
  const statuses = statusesIn(received);
  expect(statuses.length).toBe(1);
  expect(statuses[0]).toBe(400);
  expect(JSON.parse(received.slice(received.indexOf("{")))).toMatchObject({ code: 400, restate_code: "PERD0400" });
  const wellFormed = request(["content-length: 1", "connection: close"], "1");
  expect(statusesIn((await exchangeRaw(fixture.ports.ingress, wellFormed)).received)).toEqual([200]);
  const requests = runtime.requests.slice(requestsBefore);
  expect(requests.map(({ url }) => url)).toEqual(["/S/h"]);
});

test("a target in absolute form of the same authority is a path", async () => {
  const { received } = await exchangeRaw(
    fixture.ports.ingress,
    request(["connection: close"], "", `GET http://${hostOf(facts)}/S/h?x=1 HTTP/1.1`),
  );
  expect(statusesIn(received)).toEqual([200]);
  expect(runtime.requests.at(-1)?.url).toBe("/S/h?x=1");
});

test("WebSocket is not supported", async () => {
  const { received } = await exchangeRaw(
    fixture.ports.ingress,
    request(["connection: upgrade, close", "upgrade: websocket"], "", "GET /S/h HTTP/1.1"),
    { done: (text) => text.endsWith("}") },
  );
  expect(statusesIn(received)).toEqual([426]);
});

test("headers that `connection` names are not forwarded, and framing headers cannot be removed that way", async () => {
  await exchangeRaw(
    fixture.ports.ingress,
    request(["connection: close, x-private, content-length", "x-private: 1", "content-length: 2"], "ab"),
  );
  const lastRequest = runtime.requests.at(-1)!;
  expect(lastRequest.body).toBe("ab");
  expect(lastRequest.rawHeaders.map((each) => each.toLowerCase())).not.toContain("x-private");
});

test.each([
  ["101 lines", () => request(Array.from({ length: 99 }, (_, i) => `x-${i}: 1`))],
  ["33 KiB", () => request([`x-a: ${"a".repeat(33 * 1024)}`])],
])("headers of %s are too large", async (_name, bytes) => {
  const { received } = await exchangeRaw(fixture.ports.admin, bytes(), { done: (text) => text.endsWith("}") });
  expect(statusesIn(received)).toEqual([431]);
  expect(JSON.parse(received.slice(received.indexOf("{")))).toMatchObject({ code: 431, restate_code: "PERD0431" });
});

test("a flood of pipelined requests ends the connection", async () => {
  const { closed } = await exchangeRaw(fixture.ports.ingress, request(["content-length: 0"]).repeat(50));
  expect(closed).toBe(true);
});

test("answers come in the order of pipelined requests", async () => {
  const two =
    request(["content-length: 0"], "", "POST /first/h HTTP/1.1") + request(["connection: close"], "", "POST /second/h HTTP/1.1");
  const { received } = await exchangeRaw(fixture.ports.ingress, two);
  expect(statusesIn(received)).toEqual([200, 200]);
  expect(received.indexOf("/first/h")).toBeLessThan(received.indexOf("/second/h"));
});

test("a refusal keeps the connection of a request without a body", async () => {
  const refused = `GET /S/h HTTP/1.1\r\nhost: ${hostOf(facts)}\r\n\r\n`;
  const { received } = await exchangeRaw(fixture.ports.ingress, refused + request(["connection: close"]));
  expect(statusesIn(received)).toEqual([401, 200]);
});
