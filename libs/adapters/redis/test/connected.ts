/** A server for tests of the driver, connections to it, and a leader with batches to write. */
import { silentLogger, systemClock } from "@perdure/base";
import { type RedisServer, startRedis } from "@perdure/servers";
import type { Mutation } from "@perdure/state-machine";
import type { CommitOutcome, FetchedRow, RowKey } from "@perdure/storage";
import { connectRedis, type RedisConnectionOptions, type RedisConnections, RedisPartitionStore } from "../src/index.js";

export const ENVIRONMENT = "e";

export function connectTo(port: number, options: Partial<RedisConnectionOptions> = {}): Promise<RedisConnections> {
  return connectRedis({ nodes: [{ host: "127.0.0.1", port }], ...options }, { clock: systemClock, logger: silentLogger });
}

/** Writes to one partition under the epoch it was claimed with, and reads from it. */
export interface RedisLeader {
  readonly redis: RedisConnections;
  readonly store: RedisPartitionStore;
  readonly epoch: number;
  put(...mutations: Mutation[]): Promise<CommitOutcome>;
  fetch(...keys: RowKey[]): Promise<readonly FetchedRow["value"][]>;
}

export async function lead(redis: RedisConnections, partition = 0): Promise<RedisLeader> {
  const store = new RedisPartitionStore(redis, { environment: ENVIRONMENT });
  const epoch = await store.claim(partition);
  return {
    redis,
    store,
    epoch,
    put: (...mutations) => store.commit([{ partition, epoch, mutations }]),
    fetch: async (...keys) => (await store.fetch(partition, keys)).map(({ value }) => value),
  };
}

export const COMMITTED: CommitOutcome = { kind: "committed" };

/** A server of this test alone, so that every command it counts comes from the test. */
export class CountedRedis implements AsyncDisposable {
  readonly server: RedisServer;
  readonly connections: RedisConnections;

  private constructor(server: RedisServer, connections: RedisConnections) {
    this.server = server;
    this.connections = connections;
  }

  static async start(): Promise<CountedRedis> {
    const server = await startRedis();
    return new CountedRedis(server, await connectTo(server.port));
  }

  /** Returns the number of runs of the commands with these names, in scripts or by themselves. */
  async callsDuring(names: readonly string[], work: () => Promise<unknown>): Promise<number> {
    const before = await this.#calls(names);
    await work();
    return (await this.#calls(names)) - before;
  }

  async #calls(names: readonly string[]): Promise<number> {
    const text = String(await this.server.request("INFO", "commandstats"));
    return [...text.matchAll(/cmdstat_(\w+):calls=(\d+)/g)]
      .filter(([, name]) => names.includes(name as string))
      .reduce((sum, [, , calls]) => sum + Number(calls), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connections[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}
