/** The ingress as an HTTP server: interim responses, timeouts, clients that disconnect, origins of web pages, draining. */

import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { until } from "@perdure/testkit";
import { bothProtocols, openClient } from "./client.js";
import { startIngress, success } from "./fixture.js";
import { exchangeRaw, parseAnswers, post } from "./raw.js";

const octets = { "content-type": "application/octet-stream" };
const health = { method: "GET", path: "/restate/health" } as const;

describe("expect: 100-continue", () => {
  test("is answered before the body, over HTTP/1.1", async () => {
    await using fixture = await startIngress();
    const head = post("/Greeter/bin", ["content-type: application/octet-stream", "content-length: 4", "expect: 100-continue"]);
    const socket = connect(fixture.port, "127.0.0.1");
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.write(head);
    await until(() => received === "HTTP/1.1 100 Continue\r\n\r\n", "the interim answer comes alone");
    expect(fixture.partitions.invoked).toHaveLength(0);
    socket.write("body");
    await until(() => received.includes('"ok"'), "the answer comes");
    expect(parseAnswers(Buffer.from(received)).map(({ status }) => status)).toEqual([100, 200]);
    expect(received).not.toMatch(/connection: close/i);
    socket.destroy();
  });

  test("is answered before the body, over h2c", async () => {
    await using fixture = await startIngress();
    const session = connectHttp2(`http://127.0.0.1:${fixture.port}`);
    const stream = session.request({ ":method": "POST", ":path": "/Greeter/bin", ...octets, expect: "100-continue" });
    const status = await new Promise((resolve) => {
      stream.on("continue", () => stream.end("body"));
      stream.on("response", (headers) => resolve(headers[":status"]));
    });
    expect(status).toBe(200);
    session.destroy();
  });

  test.each([
    ["an unknown service", "/Nope/x", "content-length: 4", 404],
    ["a body announced as too large", "/Greeter/bin", "content-length: 40000000", 413],
  ])("is not answered for %s: the refusal comes at once and the connection ends", async (_title, path, length, status) => {
    await using fixture = await startIngress();
    const { received, closed } = await exchangeRaw(fixture.port, post(path, [length, "expect: 100-continue"]));
    const answers = parseAnswers(received);
    expect(answers.map((answer) => answer.status)).toEqual([status]);
    expect(answers[0]!.headers.get("connection")).toBe("close");
    expect(closed).toBe(true);
  });

  test("without a body makes no difference", async () => {
    await using fixture = await startIngress();
    const { received } = await exchangeRaw(fixture.port, post("/Greeter/greet", ["content-length: 0", "expect: 100-continue"]), {
      done: (bytes) => bytes.includes('"ok"'),
    });
    expect(parseAnswers(received).map(({ status }) => status)).toEqual([200]);
  });
});

describe("an unread body", () => {
  test("that is small is skipped and the connection stays open", async () => {
    await using fixture = await startIngress();
    const requests = post("/Nope/x", ["content-length: 5"], "abcde") + post("/Greeter/greet", ["content-length: 0"]);
    const { received } = await exchangeRaw(fixture.port, requests, { done: (bytes) => bytes.includes('"ok"') });
    expect(parseAnswers(received).map(({ status }) => status)).toEqual([404, 200]);
  });

  test.each([["content-length: 1000000"], ["transfer-encoding: chunked"]])(
    "that is large or endless (%s) ends the connection after the response, and nothing behind it is served",
    async (framing) => {
      await using fixture = await startIngress();
      const chunk = framing.startsWith("t") ? "5\r\nabcde\r\n0\r\n\r\n" : "x".repeat(1_000_000);
      const requests = post("/Nope/x", [framing], chunk) + post("/Greeter/greet", ["content-length: 0"]);
      const { received, closed } = await exchangeRaw(fixture.port, requests);
      const answers = parseAnswers(received);
      expect(answers.map(({ status }) => status)).toEqual([404]);
      expect(answers[0]!.headers.get("connection")).toBe("close");
      expect(closed).toBe(true);
      expect(fixture.partitions.invoked).toHaveLength(0);
    },
  );
});

describe("slow clients", () => {
  test("a connection that sends nothing is dropped", async () => {
    await using fixture = await startIngress({ options: { http: { headersTimeoutMs: 100 } } });
    expect(await exchangeRaw(fixture.port, "")).toMatchObject({ closed: true });
    expect(await exchangeRaw(fixture.port, "P")).toMatchObject({ closed: true });
  });

  test("headers that do not end are 408", async () => {
    await using fixture = await startIngress({ options: { http: { headersTimeoutMs: 100 } } });
    const { received, closed } = await exchangeRaw(fixture.port, "POST /Greeter/greet HTTP/1.1\r\nhost: x\r\nx-slow: ");
    expect(parseAnswers(received).map(({ status }) => status)).toEqual([408]);
    expect(closed).toBe(true);
  });

  test.each(bothProtocols)("a body that does not end is 408 over %s", async (http) => {
    await using fixture = await startIngress({ options: { bodyTimeoutMs: 100 } });
    await using client = openClient(http, fixture.port);
    const answer = await client.send({ path: "/Greeter/bin", headers: octets, body: "x", unfinished: true });
    expect(answer).toMatchObject({
      status: 408,
      text: '{"code":408,"message":"cannot read body: it did not arrive in time","source":"ingress"}',
    });
    expect(fixture.partitions.invoked).toHaveLength(0);
  });
});

describe("clients that leave", () => {
  test.each(bothProtocols)("a waiting caller is detached over %s, and the invocation continues", async (http) => {
    await using fixture = await startIngress({ script: () => "pending" });
    await using client = openClient(http, fixture.port);
    const leaving = new AbortController();
    const response = client.send({ path: "/Greeter/greet" }, leaving.signal);
    response.catch(() => {}); // Checked below; it may fail before.
    await until(() => fixture.partitions.waiting.size === 1, "the caller waits");
    leaving.abort();
    await expect(response).rejects.toThrow();
    await until(() => fixture.partitions.waiting.size === 0, "the observer is detached");
    expect(fixture.partitions).toMatchObject({ detachCount: 1, submitted: [] });
    expect(fixture.ingress.inFlight).toBe(0);
    const id = fixture.partitions.invoked[0]!.id;
    fixture.partitions.complete(id, success("x"));
    expect((await client.send({ method: "GET", path: `/restate/output/${id}` })).text).toBe("x");
  });

  test.each(bothProtocols)("a caller who leaves in the middle of the body submits nothing over %s", async (http) => {
    await using fixture = await startIngress();
    await using client = openClient(http, fixture.port);
    const leaving = new AbortController();
    const response = client.send({ path: "/Greeter/bin", headers: octets, body: "x", unfinished: true }, leaving.signal);
    response.catch(() => {}); // Checked below.
    await until(() => fixture.ingress.inFlight === 1, "the request has begun");
    leaving.abort();
    await expect(response).rejects.toThrow();
    await until(() => fixture.ingress.inFlight === 0, "the request is given up");
    expect(fixture.partitions.invoked).toHaveLength(0);
  });

  test("an HTTP/2 client that loses its connection is detached from all its streams", async () => {
    await using fixture = await startIngress({ script: () => "pending" });
    const session = connectHttp2(`http://127.0.0.1:${fixture.port}`);
    session.on("error", () => {}); // It is destroyed on purpose.
    for (let i = 0; i < 10; i++) session.request({ ":method": "GET", ":path": "/Greeter/greet" }).on("error", () => {});
    await until(() => fixture.partitions.waiting.size === 10, "all wait");
    session.destroy();
    await until(() => fixture.partitions.waiting.size === 0, "all are detached");
  });
});

describe("responses to web pages", () => {
  test.each([
    [undefined, "https://evil.example", "https://evil.example"],
    [["*"], "https://evil.example", "https://evil.example"],
    [["https://app.example"], "https://app.example", "https://app.example"],
    [["https://app.example"], "https://evil.example", undefined],
    [["https://app.example"], "https://app.example.evil", undefined],
    [[], "https://evil.example", undefined],
  ])("with allowed origins %j a page of %s may read: %s", async (corsOrigins, origin, allowed) => {
    await using fixture = await startIngress({ options: corsOrigins === undefined ? {} : { corsOrigins } });
    await using client = openClient("http/1.1", fixture.port);
    const preflight = { origin, "access-control-request-method": "POST" };
    for (const request of [health, { method: "OPTIONS", path: "/x", headers: preflight }, { path: "/Nobody/here" }]) {
      const { headers } = await client.send({
        ...request,
        headers: { origin, ...("headers" in request ? request.headers : {}) },
      });
      expect(headers["access-control-allow-origin"]).toBe(allowed);
    }
  });
});

describe("connections", () => {
  test("a request without a host is 400 with a reason in JSON, and the connection ends", async () => {
    await using fixture = await startIngress();
    const { received, closed } = await exchangeRaw(fixture.port, "GET /restate/health HTTP/1.1\r\n\r\n");
    const [answer] = parseAnswers(received);
    const body = { code: 400, message: "the request has no host header", source: "ingress" };
    expect([answer?.status, answer?.headers.get("x-restate-error-source"), closed]).toEqual([400, "ingress", true]);
    expect(JSON.parse(String(answer?.body))).toEqual(body);
    const old = await exchangeRaw(fixture.port, "GET /restate/health HTTP/1.0\r\n\r\n");
    expect(old.received.toString("latin1")).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("pipelined requests are answered in order", async () => {
    await using fixture = await startIngress({ script: () => "pending" });
    const requests = [post("/Greeter/greet", ["content-length: 0"]), post("/Nope/x", ["content-length: 0"])].join("");
    const answered = exchangeRaw(fixture.port, requests, { done: (bytes) => bytes.includes("not found") });
    await until(() => fixture.partitions.invoked.length === 1, "the first is submitted");
    fixture.partitions.complete(fixture.partitions.invoked[0]!.id, success("x"));
    expect(parseAnswers((await answered).received).map(({ status }) => status)).toEqual([200, 404]);
  });

  test("an upgrade to h2c is not honoured", async () => {
    await using fixture = await startIngress();
    const upgrade = ["connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAoAAAAAIAAAAA"];
    const { received } = await exchangeRaw(fixture.port, post("/Greeter/greet", upgrade), {
      done: (bytes) => bytes.includes('"ok"'),
    });
    expect(parseAnswers(received).map(({ status }) => status)).toEqual([200]);
  });

  test("bytes may arrive one at a time, whatever the protocol", async () => {
    await using fixture = await startIngress();
    const socket = connect({ port: fixture.port, host: "127.0.0.1", noDelay: true });
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    for (const byte of post("/Greeter/greet", ["content-length: 0"])) {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => received.includes('"ok"'), "the answer comes");
    socket.destroy();
  });

  test("an absolute target is served like its path", async () => {
    await using fixture = await startIngress();
    const request = "POST http://x/Greeter/greet?q HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    const { received } = await exchangeRaw(fixture.port, request, { done: (bytes) => bytes.includes('"ok"') });
    expect(parseAnswers(received).map(({ status }) => status)).toEqual([200]);
  });

  test("a key may be written as it is", async () => {
    await using fixture = await startIngress();
    const { received } = await exchangeRaw(fixture.port, post("/Counter/né€/add?q=ü", ["content-length: 0"]), {
      done: (bytes) => bytes.includes('"ok"'),
    });
    expect(parseAnswers(received).map(({ status }) => status)).toEqual([200]);
    expect(fixture.partitions.invoked[0]?.facts.target.key).toBe("né€");
  });

  test("an ambiguous or malformed request is 400 and ends the connection", async () => {
    await using fixture = await startIngress();
    for (const request of [
      post("/Greeter/greet", ["content-length: 3", "transfer-encoding: chunked"], "0\r\n\r\n"),
      post("/Greeter/greet", ["content-length: 3", "content-length: 4"], "abcd"),
      "POST /Greeter/greet HTTP/1.1\r\n\r\n",
      "nonsense\r\n\r\n",
    ]) {
      const { received, closed } = await exchangeRaw(fixture.port, request);
      expect(parseAnswers(received).map(({ status }) => status)).toEqual([400]);
      expect(closed).toBe(true);
    }
    expect(fixture.partitions.invoked).toHaveLength(0);
  });
});

describe("closing", () => {
  test.each(bothProtocols)("lets running requests finish over %s and takes no new connections", async (http) => {
    const fixture = await startIngress({ script: () => "pending", options: { drainMs: 5000 } });
    await using client = openClient(http, fixture.port);
    const response = client.send({ path: "/Greeter/greet" });
    await until(() => fixture.partitions.invoked.length === 1, "the call is submitted");
    const closing = fixture.ingress.close();
    await expect(exchangeRaw(fixture.port, "GET / HTTP/1.1\r\n\r\n")).rejects.toThrow("ECONNREFUSED");
    fixture.partitions.complete(fixture.partitions.invoked[0]!.id, success("x"));
    expect(await response).toMatchObject({ status: 200, text: "x" });
    await closing;
    await fixture[Symbol.asyncDispose]();
  });

  test.each(bothProtocols)("drops what does not finish in time over %s, and detaches it", async (http) => {
    await using fixture = await startIngress({ script: () => "pending", options: { drainMs: 50 } });
    await using client = openClient(http, fixture.port);
    const response = client.send({ path: "/Greeter/greet" });
    response.catch(() => {}); // Checked below.
    await until(() => fixture.partitions.invoked.length === 1, "the call is submitted");
    await fixture.ingress.close();
    await expect(response).rejects.toThrow();
    await until(() => fixture.partitions.waiting.size === 0, "the observer is detached");
  });

  test("does not wait for idle connections", async () => {
    const fixture = await startIngress({ options: { drainMs: 60_000 } });
    await using http1 = openClient("http/1.1", fixture.port);
    await using h2c = openClient("h2c", fixture.port);
    await Promise.all([http1.send(health), h2c.send(health)]);
    await fixture[Symbol.asyncDispose]();
  });
});
