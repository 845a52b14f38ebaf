/** Fifty clients that lose PostgreSQL in one moment must not come back in one moment. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Logger, silentLogger } from "@perdure/base";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { SeededRandom } from "@perdure/testkit";
import { LISTEN_AGAIN_FIRST_MS } from "../src/limits.js";
import { NotificationListener } from "../src/listener.js";

const CLIENTS = 50;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

/** Listens with chance of its own; its log is read for the pauses that it takes. */
class Client {
  readonly pausesMs: number[] = [];
  readonly listener: NotificationListener;
  #connected = Promise.withResolvers<void>();

  constructor(seed: number) {
    const warn = (fields: object): void => void this.pausesMs.push((fields as { pauseMs: number }).pauseMs);
    const logger: Logger = { ...silentLogger, warn };
    this.listener = new NotificationListener(server.url, "changes", logger, new SeededRandom(seed));
    this.listener.onNotification(() => {
      this.#connected.resolve();
      this.#connected = Promise.withResolvers();
    });
  }

  /** Resolves when it has connected the next time. */
  connected(): Promise<void> {
    return this.#connected.promise;
  }
}

test("clients of a PostgreSQL that is started again come back spread over time", async () => {
  const clients = Array.from({ length: CLIENTS }, (_, seed) => new Client(seed + 1));
  await Promise.all(clients.map((client) => client.connected()));
  const again = clients.map(async (client) => {
    while (client.pausesMs.length === 0) await client.connected();
  });
  await server.kill();
  await server.startAgain();
  await Promise.all(again);
  const pausesMs = clients.map((client) => client.pausesMs[0] as number);
  await Promise.all(clients.map(({ listener }) => listener.close()));

  expect(Math.max(...pausesMs)).toBeLessThanOrEqual(LISTEN_AGAIN_FIRST_MS);
  const quarters = [0, 0, 0, 0];
  for (const pauseMs of pausesMs) quarters[Math.min(3, Math.floor((4 * pauseMs) / LISTEN_AGAIN_FIRST_MS))]!++;
  for (const count of quarters) expect(count).toBeGreaterThanOrEqual(CLIENTS / 10);
  const together = new Map<number, number>();
  for (const pauseMs of pausesMs) together.set(pauseMs, (together.get(pauseMs) ?? 0) + 1);
  expect(Math.max(...together.values())).toBeLessThanOrEqual(CLIENTS / 8);
}, 120_000);
