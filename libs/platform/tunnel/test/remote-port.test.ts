import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { connect, constants } from "node:http2";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { describe, expect, test } from "@jest/globals";
import {
  FRAME,
  HTTP2_PREFACE,
  headerBlock,
  http2Frame,
  http2ProtocolErrors,
  SEGMENTATIONS,
  sendSegments,
} from "@perdure/testkit";
import { openRemotePort, type RemotePortEvent } from "../src/index.js";

/** An ingress that returns facts of the request and echoes its body. */
async function aTarget() {
  const requests: { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method, url: request.url, headers: request.headers });
    response.writeHead(201, { "x-of": "target", "content-type": "text/plain" });
    request.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  let connections = 0;
  server.on("connection", () => connections++);
  return {
    requests,
    get connections() {
      return connections;
    },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const END_HEADERS = 4;
/** A POST whose client waits for `100 Continue`. */
const expecting = http2Frame(
  FRAME.headers,
  END_HEADERS,
  1,
  headerBlock({ ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "a", expect: "100-continue" }),
);

describe("a remote port", () => {
  test.each([
    ["its first request", ""],
    ["a later request", "GET /first HTTP/1.1\r\nhost: a\r\n\r\n"],
  ])("cuts a connection whose headers never end, of %s", async (_title, before) => {
    await using target = await aTarget();
    await using port = await openRemotePort({
      port: 0,
      target: target.url,
      credential: async () => "key_1",
      headersTimeoutMs: 300,
    });
    const socket = connectTcp(port.port, "127.0.0.1");
    socket.on("error", () => undefined);
    let text = "";
    socket.on("data", (chunk) => {
      text += String(chunk);
    });
    const closed = once(socket, "close");
    socket.write(before);
    while (before !== "" && !text.includes("201")) await new Promise<void>((resolve) => setTimeout(resolve, 5));
    socket.write("GET /slow HTTP/1.1\r\n");
    const drip = setInterval(() => socket.write("x: y\r\n"), 50);
    await closed;
    clearInterval(drip);
    expect(text).toContain("408");
    expect(target.requests.map(({ url }) => url)).toEqual(before === "" ? [] : ["/first"]);
  });

  test("does not pass half a request of HTTP/2 on as a whole one when the caller's connection breaks", async () => {
    const received = Promise.withResolvers<boolean>();
    const begun = Promise.withResolvers<void>();
    const server = createServer((request) => {
      request.on("error", () => undefined);
      request.on("data", () => begun.resolve());
      request.on("close", () => received.resolve(request.complete));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using port = await openRemotePort({ port: 0, target, credential: async () => "key_1" });
    const session = connect(port.url).on("error", () => undefined);
    const stream = session.request({ ":method": "POST", ":path": "/x" }).on("error", () => undefined);
    stream.write("half");
    await begun.promise;
    session.socket.destroy();
    expect(await received.promise).toBe(false);
    server.closeAllConnections();
    server.close();
  });

  test("does not pass half an answer on as a whole one", async () => {
    const server = createServer((_request, response) => response.write("half", () => response.destroy()));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using port = await openRemotePort({ port: 0, target, credential: async () => "key_1" });
    const session = connect(port.url).on("error", () => undefined);
    const stream = session.request({ ":path": "/x" }).on("error", () => undefined);
    stream.resume();
    await new Promise((resolve) => stream.once("close", resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    session.destroy();
    await expect(fetch(`${port.url}/x`).then((answer) => answer.text())).rejects.toThrow();
    server.closeAllConnections();
    server.close();
  });

  test("cuts a caller of HTTP/2 that sends GOAWAY and stays", async () => {
    await using target = await aTarget();
    await using port = await openRemotePort({ port: 0, target: target.url, credential: async () => "key_1" });
    const socket = connectTcp({ port: port.port, host: "127.0.0.1", allowHalfOpen: true });
    const broken = new Promise<void>((resolve) => socket.once("error", () => resolve()));
    const goaway = http2Frame(7, 0, 0, Buffer.alloc(8));
    socket.write(Buffer.concat([HTTP2_PREFACE, http2Frame(FRAME.settings, 0, 0, Buffer.alloc(0)), goaway]));
    await once(socket.resume(), "end");
    // Its side stays open and accepts bytes until the port closes it.
    const writes = setInterval(() => socket.write("x"), 100);
    await broken;
    clearInterval(writes);
  });

  test("cuts a connection that sends nothing", async () => {
    await using target = await aTarget();
    const options = { port: 0, target: target.url, credential: async () => "key_1", headersTimeoutMs: 300 };
    await using port = await openRemotePort(options);
    const socket = connectTcp(port.port, "127.0.0.1");
    await once(socket.resume(), "close");
  });

  // An exception that nothing catches fails the test in which it is thrown: in a program it would end the process.
  test.each(Object.entries(SEGMENTATIONS))("survives callers that break HTTP/2 %s", async (_name, segments) => {
    await using target = await aTarget();
    await using port = await openRemotePort({ port: 0, target: target.url, credential: async () => "key_1" });
    for (const { frames } of http2ProtocolErrors) {
      await sendSegments(port.port, segments(frames("a")));
      await sendSegments(port.port, segments(frames("a", expecting)));
    }
    expect((await fetch(`${port.url}/x`)).status).toBe(201);
  });

  test.each([
    ["HTTP/1.1", Buffer.from("POST /abandoned HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n")],
    ["HTTP/2", Buffer.concat([HTTP2_PREFACE, http2Frame(FRAME.settings, 0, 0), expecting])],
  ])("sends nothing for a caller that hung up before the credential was there, over %s", async (_name, bytes) => {
    await using target = await aTarget();
    const requested = Promise.withResolvers<void>();
    const credential = Promise.withResolvers<string>();
    const over = Promise.withResolvers<void>();
    await using port = await openRemotePort({
      port: 0,
      target: target.url,
      credential: () => {
        requested.resolve();
        return credential.promise;
      },
      onEvent: () => over.resolve(),
    });
    const socket = connectTcp(port.port, "127.0.0.1", () => socket.write(bytes));
    await requested.promise;
    socket.destroy();
    await over.promise;
    credential.resolve("key_1");
    expect((await fetch(`${port.url}/x`)).status).toBe(201);
    expect(target.requests.map(({ url }) => url)).toEqual(["/x"]);
    expect(target.connections).toBe(1);
  });

  test("takes HTTP/1.1 whose first byte comes alone", async () => {
    await using target = await aTarget();
    await using port = await openRemotePort({ port: 0, target: target.url, credential: async () => "key_1" });
    const socket = connectTcp(port.port, "127.0.0.1", () => socket.write("P"));
    await once(socket, "connect");
    await fetch(`${port.url}/y`); // By now the port has read the byte.
    socket.write("OST /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    socket.resume();
    await once(socket, "close");
    expect(target.requests.map(({ method, url }) => [method, url])).toEqual([
      ["GET", "/y"],
      ["POST", "/x"],
    ]);
  });

  test("adds the credential, whatever credential the caller sends, and forwards all other headers", async () => {
    await using target = await aTarget();
    const events: RemotePortEvent[] = [];
    await using port = await openRemotePort({
      port: 0,
      target: target.url,
      credential: async () => "key_1",
      onEvent: (event) => events.push(event),
    });
    const answer = await fetch(`${port.url}/Svc/handler?q=1`, {
      method: "POST",
      headers: { authorization: "Bearer mine", "x-a": "b", "idempotency-key": "k" },
      body: "hello",
    });
    expect([answer.status, await answer.text(), answer.headers.get("x-of")]).toEqual([201, "hello", "target"]);
    expect(target.requests).toMatchObject([
      { method: "POST", url: "/Svc/handler?q=1", headers: { authorization: "Bearer key_1", "x-a": "b", "idempotency-key": "k" } },
    ]);
    expect(target.requests[0]?.headers.host).toBe(new URL(target.url).host);
    expect(JSON.stringify(events)).not.toContain("q=1");
  });

  test("takes HTTP/2 without TLS too", async () => {
    await using target = await aTarget();
    await using port = await openRemotePort({ port: 0, target: target.url, credential: async () => "key_1" });
    const session = connect(port.url);
    const stream = session.request({ ":method": "POST", ":path": "/x" });
    const status = new Promise((resolve) => stream.on("response", (headers) => resolve(headers[":status"])));
    let body = "";
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      body += chunk;
    });
    stream.end("over two");
    await new Promise((resolve) => stream.on("close", resolve));
    expect([await status, body]).toEqual([201, "over two"]);
    session.destroy();
  });

  test("answers 502 when the environment does not, or there is no credential", async () => {
    const gone = await aTarget();
    await gone[Symbol.asyncDispose]();
    await using port = await openRemotePort({ port: 0, target: gone.url, credential: async () => "key_1" });
    const answer = await fetch(`${port.url}/x`);
    expect([answer.status, await answer.json()]).toMatchObject([502, { code: 502 }]);
    await using locked = await openRemotePort({
      port: 0,
      target: gone.url,
      credential: () => Promise.reject(new Error("log in first")),
    });
    expect(await (await fetch(`${locked.url}/x`)).json()).toEqual({ code: 502, message: "log in first" });
  });

  test("listens on loopback unless another address is allowed explicitly", async () => {
    const options = { port: 0, target: "http://127.0.0.1:1", credential: async () => "key_1" };
    for (const host of ["0.0.0.0", "::", "192.0.2.1"]) {
      await expect(openRemotePort({ ...options, host })).rejects.toMatchObject({ code: "OPS0001" });
    }
    await using open = await openRemotePort({ ...options, host: "0.0.0.0", bindInsecure: true });
    await expect(openRemotePort({ ...options, port: open.port, host: "0.0.0.0", bindInsecure: true })).rejects.toMatchObject({
      code: "RT0004",
    });
  });
});
