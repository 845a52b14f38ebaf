/** Clients over HTTP/2 that stop reading in the middle of an answer. */
import { expect, test } from "@jest/globals";
import { type Clock, silentLogger, systemClock } from "@perdure/base";
import type { HttpExchange } from "@perdure/http-server";
import { STUCK_BYTES, stuckClient, VirtualClock } from "@perdure/testkit";
import { ConnectionCount } from "./connection-count.js";
import { KEEP_ALIVE_MS, PING_TIMEOUT_MS, SWEEP_MS } from "./limits.js";
import { createListener } from "./listener.js";

/** A listener with one client that stopped reading its answer. */
async function withStuckClient(clock: Clock) {
  const { promise: begun, resolve } = Promise.withResolvers<HttpExchange>();
  const ports = { clock, logger: silentLogger, connections: new ConnectionCount(10) };
  const handlers = { request: (exchange: HttpExchange) => resolve(exchange), unreadable: () => "", flooded: () => undefined };
  const listener = createListener(handlers, undefined, ports);
  const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
  const answered = begun.then((exchange) => {
    exchange.start(200, []);
    exchange.write(new Uint8Array(STUCK_BYTES));
  });
  const client = await stuckClient(port, answered);
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

test("a client that reads nothing and answers no PING loses its connection, and its network's slot is free again", async () => {
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
