/** The contract of every PartitionStore, on one Redis and on a cluster of three. */
import { afterAll, beforeAll } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { startRedis, startRedisCluster } from "@perdure/servers";
import type { PartitionStore } from "@perdure/storage";
import { describePartitionStore } from "@perdure/storage/testing";
import {
  connectRedis,
  type RedisConnectionOptions,
  type RedisConnections,
  type RedisNode,
  RedisPartitionStore,
} from "../src/index.js";
import { SyncFetcher, withSyncReads } from "./sync-reads.js";

interface Servers extends AsyncDisposable {
  readonly nodes: readonly { readonly port: number }[];
}

function describeOn(driver: string, start: () => Promise<Servers>, cluster: boolean): void {
  const owned = new AsyncDisposableStack();
  let connections: RedisConnections;
  let fetcher: SyncFetcher;
  let environment = "";
  let count = 0;

  beforeAll(async () => {
    const servers = owned.use(await start());
    const nodes = servers.nodes.map(({ port }) => ({ host: "127.0.0.1", port })) as [RedisNode, ...RedisNode[]];
    const options: RedisConnectionOptions = { nodes, cluster };
    fetcher = owned.use(new SyncFetcher(options));
    connections = owned.use(await connectRedis(options, { clock: systemClock, logger: silentLogger }));
  }, 60_000);
  afterAll(() => owned.disposeAsync());

  const openIn = async (name: string): Promise<PartitionStore> => {
    environment = name;
    return withSyncReads(new RedisPartitionStore(connections, { environment }), environment, fetcher);
  };
  // Each store has an environment of its own on the same server.
  describePartitionStore(driver, { open: () => openIn(`e${count++}`), reopen: () => openIn(environment) });
}

const single = async (): Promise<Servers> => {
  const redis = await startRedis();
  return { nodes: [redis], [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
};

describeOn("Redis", single, false);
describeOn("Redis Cluster", () => startRedisCluster(), true);
