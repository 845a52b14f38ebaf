import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { systemClock, systemRandom, utf8 } from "@perdure/base";
import type { EndpointTransport } from "@perdure/endpoint-transport";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { createHttpTransport } from "../src/index.js";
import { openSockets } from "./open-sockets.js";
import { open as openAny } from "./recorder.js";
import { listen } from "./sdk-endpoint.js";

const open = (transport: EndpointTransport, uri: string, request: Parameters<typeof openAny>[2] = {}) =>
  openAny(transport, uri, { httpVersion: "HTTP/1.1", ...request });

function serve(handle: RequestListener) {
  return listen(createServer(handle));
}
function aTransport(): EndpointTransport {
  return createHttpTransport({ clock: systemClock, random: systemRandom });
}
const echo = (request: IncomingMessage, response: ServerResponse) => {
  response.flushHeaders();
  request.pipe(response);
};

describe("HTTP/1.1", () => {
  test("streams a chunked request while the response already streams", async () => {
    const leaks = openSockets();
    {
      const receivedHeaders: IncomingMessage["headers"][] = [];
      await using server = await serve((request, response) => {
        receivedHeaders.push(request.headers);
        echo(request, response);
      });
      await using transport = aTransport();
      const { stream, recorder } = open(transport, `${server.uri}/base/?a=b`, { headers: { "x-one": "1" } });
      stream.write(utf8("one"));
      await recorder.until(({ text }) => text === "one");
      stream.write(utf8("two"));
      stream.end();
      await recorder.closed();
      expect([recorder.status, recorder.text, recorder.ended]).toEqual([200, "onetwo", true]);
      expect(receivedHeaders[0]).toMatchObject({ "transfer-encoding": "chunked", host: server.uri.slice(7), "x-one": "1" });
      expect(receivedHeaders[0]).not.toHaveProperty("content-length");
    }
    await leaks.expectClosed();
  });

  test("reuses its sockets", async () => {
    const sockets = new Set<unknown>();
    const paths: unknown[] = [];
    await using server = await serve((request, response) => {
      sockets.add(request.socket);
      paths.push(request.url);
      echo(request, response);
    });
    await using transport = aTransport();
    for (let i = 0; i < 5; i++) {
      const { stream, recorder } = open(transport, `${server.uri}/base?a=b`);
      stream.end();
      await recorder.closed();
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    expect([sockets.size, paths[0]]).toEqual([1, "/base/invoke/Svc/run?a=b"]);
  });

  test("an address without a listener is a connect failure", async () => {
    const server = await serve(echo);
    await server[Symbol.asyncDispose]();
    await using transport = aTransport();
    const { recorder } = open(transport, server.uri);
    expect((await recorder.closed()).failure).toMatchObject({
      kind: "connect",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  test("a peer that never accepts runs into the connect timeout", async () => {
    const clock = new VirtualClock();
    await using transport = createHttpTransport({ clock, random: new SeededRandom(1) });
    // TEST-NET-1 (RFC 5737): no host answers there, at most the network reports so at once.
    const { recorder } = open(transport, "http://192.0.2.1:9");
    await new Promise<void>((resolve) => setTimeout(resolve, 20));
    clock.advanceBy(10_000);
    expect((await recorder.closed()).failure?.kind).toBe("connect");
    expect(clock.pendingTimers).toBe(0);
  });

  test.each<[string, string, (socket: Socket) => void]>([
    ["breaks off before the headers", "reset", (socket) => socket.destroy()],
    ["breaks off inside the body", "reset", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")],
    [
      "breaks off inside a chunk",
      "reset",
      (socket) => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nha"),
    ],
    ["is not an HTTP server", "protocol", (socket) => socket.end("SSH-2.0-OpenSSH_9\r\n")],
    ["sends a broken chunk", "protocol", (socket) => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n")],
  ])("a peer that %s is a %s failure", async (_what, kind, act) => {
    await using server = await listen(createTcpServer((socket) => socket.on("error", () => {}).once("data", () => act(socket))));
    await using transport = aTransport();
    const { stream, recorder } = open(transport, server.uri);
    stream.write(utf8("x"));
    expect((await recorder.closed()).failure?.kind).toBe(kind);
  });

  test("a response that ends before the request is complete is still a response", async () => {
    await using server = await serve((_request, response) => response.writeHead(503, { "retry-after": "1" }).end("busy"));
    await using transport = aTransport();
    const { stream, recorder } = open(transport, server.uri);
    stream.write(utf8("x"));
    await recorder.closed();
    expect([recorder.status, recorder.headers["retry-after"], recorder.text, recorder.ended]).toEqual([503, "1", "busy", true]);
    stream.write(utf8("late"));
    stream.end();
  });

  test("abort breaks the exchange and the listener gets no more events", async () => {
    let closed = false;
    await using server = await serve((request, response) => {
      request.on("close", () => {
        closed = true;
      });
      echo(request, response);
    });
    await using transport = aTransport();
    const { stream, recorder } = open(transport, server.uri);
    stream.write(utf8("x"));
    await recorder.until(({ bytes }) => bytes === 1);
    stream.abort();
    while (!closed) await new Promise<void>((resolve) => setTimeout(resolve, 1));
    expect(recorder.over).toBe(false);
  });

  test("a listener that does not read holds the peer back, and a peer that does not read holds us back", async () => {
    let sent = 0;
    let release = () => {};
    await using server = await serve((request, response) => {
      release = () => request.resume();
      const more = () => {
        while (sent < 400) {
          sent++;
          if (!response.write(Buffer.alloc(64 * 1024))) return response.once("drain", more);
        }
        return response.end();
      };
      more();
    });
    await using transport = aTransport();
    const { stream, recorder } = open(transport, server.uri);
    stream.pauseReading();
    const block = new Uint8Array(256 * 1024);
    let written = 1;
    while (written < 100 && stream.write(block)) written++;
    expect(written).toBeLessThan(100);
    await recorder.until(({ status }) => status === 200);
    await new Promise<void>((resolve) => setTimeout(resolve, 100));
    expect([recorder.bytes, sent < 400]).toEqual([0, true]);
    stream.resumeReading();
    release();
    await recorder.until(({ drains }) => drains > 0);
    stream.end();
    expect((await recorder.closed()).bytes).toBe(400 * 64 * 1024);
  });

  test("a header HTTP forbids fails the request alone", async () => {
    await using transport = aTransport();
    expect((await open(transport, "http://127.0.0.1:9", { headers: { "x-bad": "a\nb" } }).recorder.closed()).failure?.kind).toBe(
      "client",
    );
  });
});
