/** Clients over HTTP/2 that stop reading in the middle of an answer. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "@jest/globals";
import { type Clock, silentLogger, systemClock } from "@perdure/base";
import { VirtualClock } from "@perdure/testkit";
import { ConnectionCount } from "./connection-count.js";
import type { Exchange } from "./exchange.js";
import { KEEP_ALIVE_MS, PING_TIMEOUT_MS, SWEEP_MS } from "./limits.js";
import { createListener } from "./listener.js";

/** More than the kernel's buffers of both ends take. */
const STUCK_BYTES = 32 * 1024 * 1024;
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** SETTINGS and WINDOW_UPDATE that let the server send as much as it likes, and `GET /` of authority `a`. */
const REQUEST = Uint8Array.from([
  ...[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff],
  ...[0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0],
  ...[0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x86, 0x41, 1, 0x61],
]);

/** A listener with one client whose answer is stuck. */
async function withStuckClient(clock: Clock) {
  const { promise: begun, resolve } = Promise.withResolvers<Exchange>();
  const ports = { clock, logger: silentLogger, connections: new ConnectionCount(10) };
  const handlers = { request: (exchange: Exchange) => resolve(exchange), unreadable: () => "", flooded: () => undefined };
  const listener = createListener(handlers, undefined, ports);
  const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
  const client = connect(port, "127.0.0.1").on("error", () => {});
  await once(client, "connect");
  client.pause();
  client.write(PREFACE);
  client.write(REQUEST);
  const exchange = await begun;
  exchange.start(200, []);
  exchange.write(new Uint8Array(STUCK_BYTES));
  await new Promise<void>((done) => setTimeout(done, 100)); // What the kernel takes has been written.
  return { listener, client, connections: ports.connections };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((done) => setImmediate(done));
}

test("a client that reads nothing does not keep a gateway from closing", async () => {
  const { listener, client, connections } = await withStuckClient(systemClock);
  await listener.close(50);
  await turns(10); // The socket emits "close" a turn later than the server does.
  expect(connections.networks).toBe(0);
  client.destroy();
});

test("a client that reads nothing and answers no PING keeps no connection, and so no place among those of its network", async () => {
  const clock = new VirtualClock();
  const { listener, client, connections } = await withStuckClient(clock);
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += SWEEP_MS) {
      clock.advanceBy(SWEEP_MS);
      await turns(2);
    }
  };
  await pass(KEEP_ALIVE_MS + PING_TIMEOUT_MS);
  expect(connections.networks).toBe(1);
  await pass(PING_TIMEOUT_MS + 4 * SWEEP_MS);
  await turns(10);
  expect(connections.networks).toBe(0);
  client.destroy();
  await listener.close(0);
});
