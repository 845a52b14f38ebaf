/** Fifty clients that lose their server in one moment must not come back in one moment. */

import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type Logger, silentLogger, systemClock } from "@perdure/base";
import { MemoryTenancy } from "@perdure/cloud/testing";
import { createTestRegistry } from "@perdure/registry/testing";
import { SeededRandom } from "@perdure/testkit";
import type { Channel } from "../src/channel.js";
import {
  openChannel,
  openRemoteRegistry,
  RemoteTenancy,
  registryDefinition,
  registryHandlers,
  tenancyDefinition,
  tenancyHandlers,
} from "../src/index.js";
import { RECONNECT_FIRST_MS } from "../src/limits.js";
import { TestServer } from "../src/testing/index.js";

type TestService = readonly [ServiceDefinition, UntypedServiceImplementation];

const CLIENTS = 50;
const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

/** Answers the port; port 0 is a free one. */
async function serve([definition, handlers]: TestService, port = 0): Promise<TestServer> {
  const server = await TestServer.start(definition, handlers, { port });
  opened.push(() => server.stop());
  return server;
}

/** A client with its own channel and random numbers; the test reads its pauses from its log. */
class Reconnecting {
  readonly pausesMs: number[] = [];
  readonly random: SeededRandom;
  readonly channels: readonly Channel[];
  readonly logger: Logger;

  constructor(port: number, seed: number) {
    this.random = new SeededRandom(seed);
    const channel = openChannel(`127.0.0.1:${port}`, undefined);
    opened.push(() => channel.close());
    this.channels = [channel];
    const debug = (fields: object): void => void this.pausesMs.push((fields as { pauseMs: number }).pauseMs);
    this.logger = { ...silentLogger, debug };
  }
}

interface Connected {
  readonly client: Reconnecting;
  /** Resolves at the next message of the server. */
  served(): Promise<void>;
}

/** Stops the server under its clients, and starts it again when each of them has noticed. Resolves with the first pause of each. */
async function restart(service: TestService, connect: (client: Reconnecting) => Connected): Promise<readonly number[]> {
  const first = await serve(service);
  const clients = Array.from({ length: CLIENTS }, (_, seed) => connect(new Reconnecting(first.port, seed + 1)));
  await Promise.all(clients.map((client) => client.served()));
  const again = clients.map(async ({ client, served }) => {
    while (client.pausesMs.length === 0) await served();
  });
  first.stop();
  await serve(service, first.port);
  await Promise.all(again);
  return clients.map(({ client }) => client.pausesMs[0] as number);
}

function expectSpread(pausesMs: readonly number[]): void {
  expect(pausesMs).toHaveLength(CLIENTS);
  expect(Math.max(...pausesMs)).toBeLessThanOrEqual(RECONNECT_FIRST_MS);
  const quarters = [0, 0, 0, 0];
  for (const pauseMs of pausesMs) quarters[Math.min(3, Math.floor((4 * pauseMs) / RECONNECT_FIRST_MS))]!++;
  for (const count of quarters) expect(count).toBeGreaterThanOrEqual(CLIENTS / 10);
  const together = new Map<number, number>();
  for (const pauseMs of pausesMs) together.set(pauseMs, (together.get(pauseMs) ?? 0) + 1);
  expect(Math.max(...together.values())).toBeLessThanOrEqual(CLIENTS / 8);
}

describe("clients of a server that is started again come back spread over time", () => {
  test("when it is the registry", async () => {
    const registry = await createTestRegistry();
    const service = [registryDefinition, registryHandlers(registry, silentLogger)] as const;
    const pauses = await restart(service, (client) => {
      const remote = openRemoteRegistry({ ...client, clock: systemClock }, { withRecords: false });
      opened.push(() => remote.close());
      return { client, served: () => new Promise((resolve) => void remote.onChange(resolve)) };
    });
    expectSpread(pauses);
  });

  test("when it is tenancy", async () => {
    const tenancy = new MemoryTenancy();
    const service = [tenancyDefinition, tenancyHandlers(tenancy, silentLogger)] as const;
    const pauses = await restart(service, (client) => {
      const stop = new AbortController();
      opened.push(() => stop.abort());
      let served = Promise.withResolvers<void>();
      const resolveServed = (): void => {
        served.resolve();
        served = Promise.withResolvers<void>();
      };
      new RemoteTenancy({ ...client, clock: systemClock }).watch(resolveServed, { signal: stop.signal });
      return { client, served: () => served.promise };
    });
    expectSpread(pauses);
  });
});
