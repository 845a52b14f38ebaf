/** Clients that get ready channels, as those of threads in one process, instead of addresses. */
import { MessageChannel } from "node:worker_threads";
import { afterEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import {
  type Channel,
  LeaderDirectory,
  openPortChannel,
  partitionsDefinition,
  registryDefinition,
  registryHandlers,
  servePort,
} from "@perdure/grpc";
import { anInvoke, PARTITIONS, TestWorker } from "@perdure/grpc/testing";
import { createTestRegistry } from "@perdure/registry/testing";
import { MemoryKeyValue } from "@perdure/storage";
import { openRegistryClient, openWorkers } from "./peers.js";

const ports = { clock: systemClock, logger: silentLogger };
const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

/** A port that is served, and the channel to it. */
function connect(definition: Parameters<ReturnType<typeof servePort>["serve"]>[0], handlers: TestWorker["handlers"]): Channel {
  const { port1, port2 } = new MessageChannel();
  servePort(port1, silentLogger).serve(definition, handlers);
  return openPortChannel(port2);
}

test("partitions and rows of a thread are reached over its one channel, without a watch for leaders", async () => {
  const leader = await TestWorker.start(new MemoryKeyValue(), { epoch: 1, carrier: "message ports" });
  opened.push(leader);
  const watches: unknown[] = [];
  const channel = connect(partitionsDefinition, { ...leader.handlers, watch: (call: unknown) => void watches.push(call) });
  const directory = new LeaderDirectory();
  const leaders = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, epoch: 1, address: "thread:1" }));
  directory.learn({ partitionCount: PARTITIONS, leaders, workers: ["thread:1"] });
  const workers = openWorkers({ directory, open: () => channel }, ports);
  opened.push(workers);
  expect(await workers.untilReady(new AbortController().signal)).toBe(PARTITIONS);
  const { id } = anInvoke();
  expect(await workers.partitions.describe(id)).toBeUndefined();
  const nodes = [];
  for await (const { status } of workers.rows.nodes()) nodes.push(status);
  expect([nodes, watches]).toEqual([["alive"], []]);
});

test("a registry is watched over a ready channel, which its client closes", async () => {
  const registry = await createTestRegistry();
  const channel = connect(registryDefinition, registryHandlers(registry, silentLogger));
  let closed = 0;
  const close = channel.close.bind(channel);
  channel.close = () => {
    closed++;
    close();
  };
  const client = openRegistryClient({ channels: [channel] }, true, ports);
  await client.untilReady(new AbortController().signal);
  await client.registry.createKafkaCluster("k1", { "bootstrap.servers": "localhost:1" });
  expect(registry.kafkaClusters()).toMatchObject([{ name: "k1" }]);
  await client[Symbol.asyncDispose]();
  expect(closed).toBe(1);
});
