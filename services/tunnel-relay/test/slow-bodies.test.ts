/**
 * The rest of a request after its complete answer keeps its connection or stream open for a bounded time only (cloud.md §7 T22). Time is
 * virtual.
 */
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { expect, test } from "@jest/globals";
import { HTTP2_LEAVING, roundsUntilGone, VirtualClock } from "@perdure/testkit";
import { LINGER_MS } from "../src/limits.js";
import { aWorld } from "./fixture.js";

/** Steps of a tenth of the time for the rest of a body. */
const ROUNDS_MAX = 30;

interface Sender {
  isAnswered(): boolean;
  isClosed(): boolean;
  send(): void;
}

const turns = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

async function expectClosedSoon(sender: Sender, clock: VirtualClock): Promise<void> {
  while (!sender.isAnswered()) await turns();
  expect(sender.isClosed()).toBe(false); // There is time to read the answer.
  for (let round = 0; !sender.isClosed() && round < ROUNDS_MAX; round++) {
    clock.advanceBy(LINGER_MS / 10);
    sender.send();
    await turns();
  }
  expect(sender.isClosed()).toBe(true);
}

test("T22: a refused request of HTTP/1.1 whose body comes a byte at a time loses its connection", async () => {
  const clock = new VirtualClock();
  await using world = await aWorld({}, { clock });
  const socket = connect({ port: Number(new URL(world.proxyUrl).port), host: "127.0.0.1", noDelay: true });
  let received = "";
  let isClosed = false;
  socket.setEncoding("latin1").on("error", () => undefined);
  socket.on("close", () => {
    isClosed = true;
  });
  socket.on("data", (chunk) => {
    received += chunk;
  });
  socket.write("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 9999\r\n\r\n");
  const isAnswered = (): boolean => received.includes("HTTP/1.1 4");
  await expectClosedSoon({ isAnswered, isClosed: () => isClosed, send: () => socket.writable && socket.write("x") }, clock);
});

test("T22: a refused stream of HTTP/2 whose body comes a byte at a time is closed, and its connection stays open", async () => {
  const clock = new VirtualClock();
  await using world = await aWorld({}, { clock });
  const session = connectHttp2(world.proxyUrl);
  const stream = session.request({ ":method": "POST", ":path": "/x" }, { endStream: false });
  let isAnswered = false;
  stream.resume().on("end", () => {
    isAnswered = true;
  });
  const send = (): void => void (stream.writable && stream.write("x"));
  await expectClosedSoon({ isAnswered: () => isAnswered, isClosed: () => stream.closed, send }, clock);
  expect(session.destroyed).toBe(false);
  session.destroy();
});

test("T21: a runtime that sends GOAWAY and stays is disconnected soon", async () => {
  const clock = new VirtualClock();
  await using world = await aWorld({}, { clock });
  const round = (): void => clock.advanceBy(LINGER_MS / 10);
  const port = Number(new URL(world.proxyUrl).port);
  expect(await roundsUntilGone(port, HTTP2_LEAVING, round, ROUNDS_MAX)).toBeGreaterThanOrEqual(10);
});
