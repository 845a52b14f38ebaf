import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { HTTP2_LEAVING, roundsUntilGone, VirtualClock } from "@perdure/testkit";
import { lingerBeforeClose } from "./linger.js";
import { host, open, type RequestHandlers } from "./testing/port.js";

/** Rounds of a hundred milliseconds: more than twice the time for the rest of a body. */
const DRIPS_MAX = 50;

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
  const socket = connect({ port, host, allowHalfOpen: true, noDelay: true }).setEncoding("latin1"); // It continues when the server has ended its side.
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
