/**
 * What a commit costs: commits and invocations per second, Redis commands, CPU and bytes on the wire for each batch, by the number of
 * invocations in a batch and of partitions that commit at the same time. An invocation here is a no-op through ingress: two commits,
 * one that submits it (row, Input entry) and one that ends it (Output entry, row, timer of its retention).
 *
 * Run: `make microbench FILTER=adapters/redis`.
 *
 * 2026-11-21, Redis 7.0.15 with `appendfsync always` on the same two cores, which others kept busy (load 8): the CPU columns and counts
 * hold, the rates are a lower bound.
 *
 *   partitions × batch  commits/s  inv/s  commands/commit  bytes in/commit  out  bytes in/inv  Redis µs/inv  our µs/inv
 *             1 × 1           966    483              8.5              559    4          1117           391         896
 *             1 × 10          525   2626             26.5             4127    4           825            93         147
 *             1 × 40          214   4289             86.5            16001    4           800            64          66
 *             1 × 200          35   3515            406.5            79281    4           793            51          46
 *             8 × 10          787   3934             26.5             4127    4           825            53          56
 *            24 × 40          200   3991             86.5            16001    4           800            38          37
 *
 * Commands count what scripts do inside. A sleeping invocation takes 1,127 bytes of Redis memory (Input, Sleep, row, timer), with
 * `stream-node-max-bytes 512`; with Redis's default of 4,096 it is about 4,700. A new leader finds that it must take up none of 100,000 in 2 ms.
 * Our CPU includes building the invocations of the benchmark.
 */
import { silentLogger, systemClock } from "@perdure/base";
import { type RedisServer, startRedis } from "@perdure/servers";
import { MessageType } from "@perdure/service-protocol";
import type { Invocation, Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { connectRedis, RedisPartitionStore } from "../src/index.js";

const SECONDS = 2;
const body = new Uint8Array(100).fill(7);

interface Counted {
  readonly commands: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly replyBytes: number;
  readonly cpuSeconds: number;
  readonly memory: number;
}

async function counted(redis: RedisServer): Promise<Counted> {
  const text = String(await redis.request("INFO", "all"));
  const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(text)?.[1] ?? 0);
  const calls = [...text.matchAll(/^cmdstat_\S+?:calls=(\d+)/gm)].reduce((sum, match) => sum + Number(match[1]), 0);
  return {
    commands: calls,
    bytesIn: field("total_net_input_bytes"),
    bytesOut: field("total_net_output_bytes") + text.length, // This very reply is counted later.
    replyBytes: text.length,
    cpuSeconds: field("used_cpu_user") + field("used_cpu_sys"),
    memory: field("used_memory"),
  };
}

let next = 0;

/** Facts without their encoded form, as a submitter makes them. */
function submitted(n: number): { start: Mutation[]; end: Mutation[] } {
  const id = anId(n);
  const facts = someFacts({ id, completionRetentionMs: 60_000 });
  const running = anInvocation("invoked", { facts });
  const completed: Invocation = { ...anInvocation("completed", { facts }) };
  const entry = (index: number, type: number): Mutation => ({
    kind: "appendEntry",
    id,
    index,
    entry: { type, body, appendedAtMs: 1_795_000_000_000 },
  });
  const timer = { dueAtMs: 1_795_000_060_000, kind: "purge", id, sequence: 0 } as const;
  return {
    start: [{ kind: "putInvocation", invocation: running }, entry(0, MessageType.Input)],
    end: [entry(1, MessageType.Output), { kind: "putInvocation", invocation: completed }, { kind: "putTimer", timer }],
  };
}

async function measure(redis: RedisServer, store: RedisPartitionStore, partitions: number, perBatch: number): Promise<void> {
  const leaders = await Promise.all(
    Array.from({ length: partitions }, async (_, partition) => ({ partition, epoch: await store.claim(partition) })),
  );
  const before = await counted(redis);
  const ownBefore = process.cpuUsage();
  const startedAt = performance.now();
  let commits = 0;
  await Promise.all(
    leaders.map(async ({ partition, epoch }) => {
      while (performance.now() - startedAt < SECONDS * 1_000) {
        const invocations = Array.from({ length: perBatch }, () => submitted(next++));
        await store.commit([{ partition, epoch, mutations: invocations.flatMap(({ start }) => start) }]);
        await store.commit([{ partition, epoch, mutations: invocations.flatMap(({ end }) => end) }]);
        commits += 2;
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await counted(redis);
  const own = process.cpuUsage(ownBefore);
  const invocations = (commits / 2) * perBatch;
  const each = (total: number, count: number, digits = 0): string => (total / count).toFixed(digits).padStart(7);
  console.log(
    [
      `${String(partitions).padStart(3)} × ${String(perBatch).padEnd(4)}`,
      each(commits, seconds),
      each(invocations, seconds),
      each(after.commands - before.commands, commits, 1),
      each(after.bytesIn - before.bytesIn, commits),
      each(after.bytesOut - after.replyBytes - before.bytesOut, commits, 1),
      each(after.bytesIn - before.bytesIn, invocations),
      each((after.cpuSeconds - before.cpuSeconds) * 1e6, invocations, 1),
      each(own.user + own.system, invocations, 1),
    ].join("  "),
  );
}

/** Measures the memory of 100,000 suspended invocations. */
async function suspendedInvocations(redis: RedisServer, store: RedisPartitionStore, count: number): Promise<void> {
  await redis.request("FLUSHALL");
  const epoch = await store.claim(0);
  const before = await counted(redis);
  for (let n = 0; n < count; n += 500) {
    const mutations: Mutation[] = [];
    for (let i = n; i < n + 500; i++) {
      const id = anId(i);
      mutations.push({ kind: "putInvocation", invocation: anInvocation("suspended", { facts: someFacts({ id }) }) });
      for (const [index, type] of [MessageType.Input, MessageType.Sleep].entries())
        mutations.push({ kind: "appendEntry", id, index, entry: { type, body: body.subarray(0, 30), appendedAtMs: 1 } });
      mutations.push({ kind: "putTimer", timer: { dueAtMs: 1_795_000_000_000 + i, kind: "sleep", id, sequence: 1 } });
    }
    await store.commit([{ partition: 0, epoch, mutations }]);
  }
  const after = await counted(redis);
  console.log(`${count} sleeping invocations: ${Math.round((after.memory - before.memory) / count)} bytes of Redis memory each`);
  const startedAt = performance.now();
  let resumableCount = 0;
  for await (const _ of store.recoverable(0)) resumableCount++;
  console.log(
    `a new leader finds the ${resumableCount} it must take up among them in ${(performance.now() - startedAt).toFixed(1)} ms`,
  );
}

{
  await using redis = await startRedis();
  await using connections = await connectRedis(
    { nodes: [{ host: "127.0.0.1", port: redis.port }] },
    { clock: systemClock, logger: silentLogger },
  );
  const store = new RedisPartitionStore(connections, { environment: "bench" });
  console.log("partitions  commits/s   inv/s  commands/  bytes in/  out/commit  bytes in/  Redis µs/  our µs/");
  console.log("× batch                          commit     commit                  inv       inv       inv");
  for (const [partitions, perBatch] of [
    [1, 1],
    [1, 10],
    [1, 40],
    [1, 200],
    [8, 10],
    [24, 10],
    [24, 40],
  ] as const)
    await measure(redis, store, partitions, perBatch);
  await suspendedInvocations(redis, store, 100_000);
}
