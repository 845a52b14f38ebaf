import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { PerdureError, silentLogger, systemClock } from "@perdure/base";
import { HTTP2_LEAVING, roundsUntilGone, VirtualClock } from "@perdure/testkit";
import express from "express";
import { lingerBeforeClose } from "./linger.js";
import type { HttpPortOptions, RequestHandlers } from "./options.js";
import { createHttpPort, type HttpPort, type HttpPortDependencies } from "./port.js";

const host = "127.0.0.1";
const dependencies: HttpPortDependencies = { clock: systemClock, logger: silentLogger };
/** Rounds of a hundred milliseconds: more than twice the time for the rest of a body. */
const DRIPS_MAX = 50;

async function open(
  handlers: RequestHandlers,
  options: HttpPortOptions = {},
  ports = dependencies,
): Promise<{ port: number; server: HttpPort } & AsyncDisposable> {
  const server = createHttpPort(handlers, ports, options);
  const { port } = await server.listen({ host, port: 0 });
  return { port, server, [Symbol.asyncDispose]: () => server.close(0) };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** A connection that stays open; each answer ends with the requested path. */
async function kept(port: number): Promise<(path: string) => Promise<string>> {
  const socket = connect(port, host).setEncoding("latin1");
  await new Promise((resolve) => socket.on("connect", resolve));
  return (path) =>
    new Promise((resolve, reject) => {
      let text = "";
      socket.on("error", reject).on("close", () => reject(new Error("cut off")));
      socket.on("data", (chunk) => {
        text += chunk;
        if (text.endsWith(path.slice(1))) resolve(text);
      });
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    });
}

function getHttp1(port: number, path: string, body = ""): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request({ host, port, path, method: "POST", headers: { "content-length": Buffer.byteLength(body) } }, (res) => {
      let text = "";
      res.on("data", (chunk) => {
        text += chunk;
      });
      res.on("end", () => resolve({ status: res.statusCode, headers: res.headers, text }));
    });
    req.on("error", reject);
    req.end(body);
  });
}

function getHttp2(port: number, path: string, body = ""): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`http://${host}:${port}`);
    session.on("error", reject);
    const stream = session.request({ ":method": "POST", ":path": path, "x-seen": "yes", te: "trailers" });
    let headers: Readonly<Record<string, unknown>> = {};
    let text = "";
    stream.on("response", (received) => {
      headers = received;
    });
    stream.on("data", (chunk) => {
      text += chunk;
    });
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      resolve({ status: Number(headers[":status"]), headers, text });
    });
    stream.end(body);
  });
}

const sayHttpVersion: RequestHandlers = {
  request: (req, res) => void res.end(`HTTP/${req.httpVersion}`),
  stream: (stream) => {
    stream.respond({ ":status": 200 });
    stream.end("HTTP/2");
  },
};

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

  test("lets go at once of a connection that ends without a word", async () => {
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

describe("closing", () => {
  test("waits for running requests, over both protocols, and refuses new connections", async () => {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    await using listener = await open({
      request: (_req, res) => {
        waiting++;
        void gate.promise.then(() => res.end("late"));
      },
    });
    const responses = [getHttp1(listener.port, "/"), getHttp2(listener.port, "/")];
    while (waiting < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    const closing = listener.server.close(10_000);
    expect(listener.server.closing).toBe(true);
    await expect(getHttp1(listener.port, "/")).rejects.toThrow("ECONNREFUSED");
    gate.resolve();
    expect((await Promise.all(responses)).map(({ text }) => text)).toEqual(["late", "late"]);
    await closing;
  });

  test.each<readonly [string, (request: RequestHandlers["request"]) => RequestHandlers["request"], RegExp]>([
    ["answers", (request) => request, /connection: close(?:.|\s)*late/i],
    // What express had begun before, it ends as it began.
    ["answers of express", (request) => express().use(request), /late/],
  ])("is announced in %s, so that a client with several requests on one connection is not cut off", async (_, made, expected) => {
    const [gate, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using listener = await open({
      request: made((req, res) => {
        if (req.url === "/now") return void res.end("now");
        arrived.resolve();
        void gate.promise.then(() => res.end("late"));
      }),
    });
    const [busy, idle] = [await kept(listener.port), await kept(listener.port)];
    expect(await idle("/now")).toMatch(/connection: keep-alive(?:.|\s)*now/i);
    const slow = busy("/late");
    await arrived.promise;
    const closing = listener.server.close(60_000);
    expect(await idle("/now")).toMatch(/connection: close(?:.|\s)*now/i);
    gate.resolve();
    expect(await slow).toMatch(expected);
    await closing;
  });

  test("cuts requests that do not finish in time, and connections that never sent their first bytes", async () => {
    let waiting = 0;
    await using listener = await open({ request: () => waiting++ });
    const silent = connect(listener.port, host);
    const ended = new Promise((resolve) => silent.on("close", resolve));
    const response = getHttp1(listener.port, "/");
    const refused = expect(response).rejects.toThrow("socket hang up");
    while (waiting < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await listener.server.close(50);
    await refused;
    await ended;
  });

  test("is done at once without connections, and may be called twice", async () => {
    const { server } = await open(sayHttpVersion);
    await Promise.all([server.close(60_000), server.close(60_000)]);
  });
});

describe("a lingering close", () => {
  test("lets a client that is still sending read its answer, and ends after a while", async () => {
    await using listener = await open({
      request: (req, res) => {
        lingerBeforeClose(req.socket, systemClock, 100);
        res.shouldKeepAlive = false;
        res.end("enough");
      },
    });
    const socket = connect(listener.port, host);
    socket.on("error", () => {}); // At the end of the lingering a client that continues to send gets a reset.
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000000\r\n\r\n");
    const sending = setInterval(() => socket.write("x".repeat(1000)), 5);
    await new Promise((resolve) => socket.on("close", resolve));
    clearInterval(sending);
    expect(received).toMatch(/enough$/);
  });

  const REFUSING = {
    hidden: [],
    refusal: () => ({ status: 403, headers: {}, body: "no" }),
  };

  test.each([
    ["answered", {}],
    ["refused by a guard", { guard: REFUSING }],
  ])("T22: a client that is %s and sends its body a byte at a time is cut off soon", async (_name, options) => {
    const clock = new VirtualClock();
    const handlers: RequestHandlers = { request: (_req, res) => void res.end("no") };
    await using listener = await open(handlers, options, { clock, logger: silentLogger });
    for (const length of [9_999, 99_999]) {
      const dripping = await drip(listener.port, `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`, "no");
      expect(dripping.isClosed()).toBe(false); // There is time to read the answer.
      await dripping.until(() => clock.advanceBy(100));
      expect(clock.monotonicMs()).toBeLessThanOrEqual(2 * 2_500);
    }
  });

  test("T22: a stream of HTTP/2 that a guard refuses is closed soon, however much its client still sends", async () => {
    const clock = new VirtualClock();
    const handlers: RequestHandlers = { request: () => undefined, stream: () => undefined };
    await using listener = await open(handlers, { guard: REFUSING }, { clock, logger: silentLogger });
    const session = connectHttp2(`http://${host}:${listener.port}`);
    const stream = session.request({ ":method": "POST" }, { endStream: false });
    await new Promise((resolve) => stream.on("data", resolve));
    const isClosed = new Promise<true>((resolve) => stream.on("close", () => resolve(true)));
    while (!(await Promise.race([isClosed, turns()]))) {
      clock.advanceBy(100);
      if (stream.writable) stream.write("x");
      expect(clock.monotonicMs()).toBeLessThanOrEqual(2_500);
    }
    session.destroy();
  });

  test("T21: a client of HTTP/2 that sends GOAWAY, and stays, is cut off soon", async () => {
    const clock = new VirtualClock();
    await using listener = await open({ request: (_req, res) => void res.end("hi") }, {}, { clock, logger: silentLogger });
    const rounds = await roundsUntilGone(listener.port, HTTP2_LEAVING, () => clock.advanceBy(100), DRIPS_MAX);
    expect(rounds).toBeGreaterThanOrEqual(20);
  });

  test("a connection whose body came in time serves the next request", async () => {
    const clock = new VirtualClock();
    await using listener = await open({ request: (_req, res) => void res.end("early") }, {}, { clock, logger: silentLogger });
    const socket = connect(listener.port, host).setEncoding("latin1");
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    const answers = async (count: number): Promise<void> => {
      while (received.split("early").length <= count) await turns();
    };
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\na");
    await answers(1);
    socket.write("b");
    await turns();
    clock.advanceBy(10_000);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await answers(2);
    socket.destroy();
  });
});

/** Lets sockets of this process read what was written. */
const turns = (): Promise<false> => new Promise((resolve) => setTimeout(() => resolve(false), 2));

/** Sends a head and waits for an answer with this in it; `until` then sends a byte in each round until the connection is closed. */
async function drip(port: number, head: string, body: string) {
  const socket = connect({ port, host, allowHalfOpen: true, noDelay: true }).setEncoding("latin1"); // It goes on when the server has ended its side.
  let received = "";
  let isClosed = false;
  socket
    .on("error", () => undefined)
    .on("close", () => {
      isClosed = true;
    });
  socket.on("data", (chunk) => {
    received += chunk;
  });
  socket.write(head);
  while (!received.includes(body)) await turns();
  return {
    isClosed: () => isClosed,
    async until(round: () => void): Promise<void> {
      for (let left = DRIPS_MAX; !isClosed && left > 0; left--) {
        round();
        if (socket.writable) socket.write("x");
        await turns();
      }
      expect(isClosed).toBe(true);
    },
  };
}
