/** A client that continues to send its body, a byte at a time, after the answer is cut off soon (cloud.md §7 T22). Time is virtual. */
import { connect } from "node:net";
import { expect, test } from "@jest/globals";
import { HTTP2_LEAVING, roundsUntilGone, VirtualClock } from "@perdure/testkit";
import { LINGER_MS } from "../src/limits.js";
import { type GatewayFixture, hostOf, startGateway } from "./fixture.js";
import { statusesIn } from "./raw.js";

/** Rounds of a tenth of the time for the rest of a body. */
const ROUNDS_MAX = 30;

/** Virtual milliseconds from the answer until the connection is closed; the client sends a byte in each round. */
async function openAfterAnswer({ ports }: GatewayFixture, clock: VirtualClock, head: string): Promise<number> {
  const socket = connect({ port: ports.ingress, host: "127.0.0.1", allowHalfOpen: true, noDelay: true }).setEncoding("latin1");
  let received = "";
  let isClosed = false;
  socket.on("error", () => undefined);
  socket.on("close", () => {
    isClosed = true;
  });
  socket.on("data", (chunk) => {
    received += chunk;
  });
  const turns = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
  socket.write(head);
  while (statusesIn(received).length === 0) await turns();
  expect(isClosed).toBe(false); // There is time to read the answer.
  const fromMs = clock.monotonicMs();
  for (let round = 0; !isClosed && round < ROUNDS_MAX; round++) {
    clock.advanceBy(LINGER_MS / 10);
    if (socket.writable) socket.write("x");
    await turns();
  }
  expect(isClosed).toBe(true);
  expect(statusesIn(received)).toEqual([401]);
  return clock.monotonicMs() - fromMs;
}

test.each([
  ["short enough to be read for the next request", "content-length: 9999"],
  ["long", "content-length: 99999"],
  ["chunked", "transfer-encoding: chunked"],
])("T22: a refused request whose body is %s keeps its connection for the time to read the answer", async (_name, length) => {
  const clock = new VirtualClock();
  await using fixture = await startGateway({ clock });
  const facts = fixture.environment(undefined);
  const head = `POST /S/h HTTP/1.1\r\nhost: ${hostOf(facts)}\r\n${length}\r\n\r\n`;
  // The bytes that were written between the rounds delay the end by as much.
  expect(await openAfterAnswer(fixture, clock, head)).toBeLessThanOrEqual(LINGER_MS * 1.5);
});

test("T21: an HTTP/2 client that sends GOAWAY and stays is cut off soon", async () => {
  const clock = new VirtualClock();
  await using fixture = await startGateway({ clock });
  const round = (): void => clock.advanceBy(LINGER_MS / 10);
  expect(await roundsUntilGone(fixture.ports.ingress, HTTP2_LEAVING, round, ROUNDS_MAX)).toBeGreaterThanOrEqual(10);
});
