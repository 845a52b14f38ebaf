import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import express from "express";
import { createHttpPort } from "./port.js";
import { dependencies, getHttp1, getHttp2, host, open, sayHttpVersion } from "./testing/port.js";

test("half a request of HTTP/2 does not pass for a whole one when its connection breaks", async () => {
  const received = Promise.withResolvers<boolean>();
  const begun = Promise.withResolvers<void>();
  await using open_ = await open({
    request(req) {
      req.on("error", () => undefined);
      req.on("data", () => begun.resolve());
      req.on("close", () => received.resolve(req.complete));
    },
  });
  const session = connectHttp2(`http://${host}:${open_.port}`).on("error", () => undefined);
  const stream = session.request({ ":method": "POST", ":path": "/x" }).on("error", () => undefined);
  stream.write("half");
  await begun.promise;
  session.socket.destroy();
  expect(await received.promise).toBe(false);
});

describe("one port", () => {
  test("serves HTTP/1.1 and h2c side by side", async () => {
    await using listener = await open(sayHttpVersion);
    const answers = await Promise.all([
      getHttp1(listener.port, "/"),
      getHttp2(listener.port, "/"),
      getHttp1(listener.port, "/"),
      getHttp2(listener.port, "/"),
    ]);
    expect(answers.map(({ text }) => text)).toEqual(["HTTP/1.1", "HTTP/2", "HTTP/1.1", "HTTP/2"]);
  });

  test("that is in use is RT0004", async () => {
    await using listener = await open(sayHttpVersion);
    const second = createHttpPort(sayHttpVersion, dependencies);
    await expect(second.listen({ host, port: listener.port })).rejects.toThrow(PerdureError);
    await expect(second.listen({ host, port: listener.port })).rejects.toMatchObject({ code: "RT0004" });
  });

  test("is shared by the listeners that all reuse it, and refused to one that does not", async () => {
    const [first, second, other] = [sayHttpVersion, sayHttpVersion, sayHttpVersion].map((handler) =>
      createHttpPort(handler, dependencies),
    );
    const { port } = await first!.listen({ host, port: 0, reusePort: true });
    try {
      expect(await second!.listen({ host, port, reusePort: true })).toMatchObject({ port });
      await expect(other!.listen({ host, port })).rejects.toMatchObject({ code: "RT0004" });
      await first!.close(0);
      expect(await getHttp1(port, "/")).toMatchObject({ text: "HTTP/1.1" });
    } finally {
      await Promise.all([first!.close(0), second!.close(0)]);
    }
  });

  test("that could not be bound holds no timer", async () => {
    await using listener = await open(sayHttpVersion);
    const clock = new VirtualClock();
    const guard = { controlFramesMax: 100, controlWindowMs: 10_000, keepAliveMs: 30_000, pingTimeoutMs: 20_000, flooded() {} };
    const second = createHttpPort(sayHttpVersion, { ...dependencies, clock }, { http2: { guard } });
    await expect(second.listen({ host, port: listener.port })).rejects.toMatchObject({ code: "RT0004" });
    expect(clock.pendingTimers).toBe(0);
  });

  test("ignores an unknown expectation", async () => {
    await using listener = await open(sayHttpVersion);
    const text = await new Promise((resolve) => {
      const socket = connect(listener.port, host, () =>
        socket.write("GET / HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n\r\n"),
      );
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      socket.on("end", () => resolve(received));
    });
    expect(text).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1$/);
  });

  test("discards at once a connection that ends without a request", async () => {
    await using listener = await open(sayHttpVersion);
    for (const text of ["", "PR"]) {
      const socket = connect(listener.port, host, () => socket.end(text));
      await new Promise((resolve) => socket.on("close", resolve).resume());
    }
  });

  test("refuses connections beyond its limit", async () => {
    await using listener = await open(sayHttpVersion, { connectionsMax: 1 });
    const first = connect(listener.port, host);
    await new Promise((resolve) => first.once("connect", resolve));
    await expect(getHttp1(listener.port, "/")).rejects.toThrow();
    first.destroy();
  });
});

describe("handlers that speak HTTP/1.1 only", () => {
  const app = express();
  app.use(express.text({ type: () => true }));
  app.post("/echo", (req, res) => {
    res
      .status(201)
      .set("x-answer", "yes")
      .send(`${req.headers.host !== undefined} ${req.headers["x-seen"]} ${req.body}`);
  });
  app.post("/long", (_req, res) => {
    res.write("x".repeat(300_000));
    res.end("!");
  });
  app.post("/break", (_req, res) => {
    res.write("begin");
    setImmediate(() => res.destroy());
  });

  test("have the address of the client, over either protocol: limits are kept by address", async () => {
    await using listener = await open({ request: (req, res) => void res.end(String(req.socket.remoteAddress)) });
    expect((await getHttp1(listener.port, "/")).text).toBe(host);
    expect((await getHttp2(listener.port, "/")).text).toBe(host);
  });

  test("answer streams too", async () => {
    await using listener = await open({ request: app });
    const answer = await getHttp2(listener.port, "/echo", "grüß");
    expect(answer).toMatchObject({ status: 201, text: "true yes grüß" });
    expect(answer.headers["x-answer"]).toBe("yes");
    expect(answer.headers["connection"]).toBeUndefined();
    expect(await getHttp1(listener.port, "/echo", "a")).toMatchObject({ status: 201, text: "true undefined a" });
  });

  test("may stream their answers", async () => {
    await using listener = await open({ request: app });
    expect((await getHttp2(listener.port, "/long")).text).toHaveLength(300_001);
  });

  test("that break off reset the stream", async () => {
    await using listener = await open({ request: app });
    await expect(getHttp2(listener.port, "/break")).rejects.toThrow(/INTERNAL_ERROR/);
  });

  test("get an event when a client disconnects", async () => {
    const left = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    await using listener = await open({
      request: (_req, res) => {
        res.on("close", () => left.resolve());
        begun.resolve();
      },
    });
    const session = connectHttp2(`http://${host}:${listener.port}`);
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {}); // It is cut on purpose.
    await begun.promise;
    session.destroy();
    await left.promise;
  });
});
