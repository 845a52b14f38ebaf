/**
 * What the reads of a leader cost, whose partition carries a mark: time of one read, our CPU and that of Redis, by how many are under way.
 *
 * Run: `make microbench FILTER=adapters/redis/bench/reads`.
 *
 * 2026-11-26, Redis 7.0.15 on the same two cores, which others kept busy (load 5 to 15): the CPU columns hold roughly, the times do not. `before`:
 * journals, timers, the outbox and scans compared nothing, all others the mark alone; now all compare mark and epoch (`reads.ts`).
 *
 *   read                  at once  our µs before  now  Redis µs before   now
 *   fetch of 1 row              1             48   47               15    15
 *   fetch of 1 row             32             14   16              1.4   1.6
 *   fetch of 4 rows             1             95   98               24    24
 *   fetch of 4 rows            32             69   64              7.4   6.4
 *   state of 4 values           1             50   53               15    16
 *   state of 4 values          32             17   15              2.1   1.8
 *   journal of 2 entries        1             25   52               15    17
 *   journal of 2 entries       32             12   15              2.1   2.6
 *   first due timer             1             19   41               12    15
 *   first due timer            32              6   12              0.9   1.7
 *
 * A read that is alone on its connection pays for the client's pipeline, which it did not need without the comparison.
 */
import { silentLogger, systemClock } from "@perdure/base";
import { type RedisServer, startRedis } from "@perdure/servers";
import { MessageType } from "@perdure/service-protocol";
import type { Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { connectRedis, placeMarks, RedisPartitionStore } from "../src/index.js";

const ROUNDS = 3;
const READS = 20_000;
const MARK = "m".repeat(32);
const ENVIRONMENT = "bench";
const id = anId(1);
const body = new Uint8Array(100).fill(7);

async function cpuMicros(redis: RedisServer): Promise<number> {
  const text = String(await redis.request("INFO", "cpu"));
  const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(text)?.[1] ?? 0);
  return (field("used_cpu_user_main_thread") + field("used_cpu_sys_main_thread")) * 1e6;
}

/** The best of some rounds: the machine may have other work. */
async function measure(redis: RedisServer, name: string, atOnce: number, read: () => Promise<unknown>): Promise<void> {
  let best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < ROUNDS; round++) {
    const redisBefore = await cpuMicros(redis);
    const ownBefore = process.cpuUsage();
    const startedAt = performance.now();
    let left = READS;
    const reader = async (): Promise<void> => {
      while (left-- > 0) await read();
    };
    await Promise.all(Array.from({ length: atOnce }, reader));
    const micros = (performance.now() - startedAt) * 1_000;
    const own = process.cpuUsage(ownBefore);
    const costs = [(micros * atOnce) / READS, (own.user + own.system) / READS, ((await cpuMicros(redis)) - redisBefore) / READS];
    best = best.map((value, n) => Math.min(value, costs[n] as number));
  }
  const columns = best.map((value) => value.toFixed(1).padStart(9));
  console.log([name.padEnd(26), String(atOnce).padStart(7), ...columns].join("  "));
}

{
  await using redis = await startRedis();
  await using connections = await connectRedis(
    { nodes: [{ host: "127.0.0.1", port: redis.port }] },
    { clock: systemClock, logger: silentLogger },
  );
  await placeMarks(connections, ENVIRONMENT, 1, MARK);
  const store = new RedisPartitionStore(connections, { environment: ENVIRONMENT, dataSet: { id: MARK } });
  const epoch = await store.claim(0);
  const object = { service: "s", key: "k" } as const;
  const mutations: Mutation[] = [
    { kind: "putInvocation", invocation: anInvocation("invoked", { facts: someFacts({ id }) }) },
    { kind: "putDedup", producer: "p", seq: 1 },
  ];
  for (const [index, type] of [MessageType.Input, MessageType.Sleep].entries())
    mutations.push({ kind: "appendEntry", id, index, entry: { type, body, appendedAtMs: 1 } });
  for (let n = 0; n < 4; n++) mutations.push({ kind: "putState", ...object, stateKey: `x${n}`, value: body });
  await store.commit([{ partition: 0, epoch, mutations }]);
  const reads: readonly (readonly [name: string, read: () => Promise<unknown>])[] = [
    ["fetch of 1 row", () => store.fetch(0, [{ kind: "dedup", producer: "p" }])],
    [
      "fetch of 4 rows",
      () =>
        store.fetch(0, [
          { kind: "invocation", id },
          { kind: "entry", id, index: 0 },
          { kind: "lock", ...object },
          { kind: "dedup", producer: "p" },
        ]),
    ],
    ["state of 4 values", () => store.stateOf(0, "s", "k")],
    ["journal of 2 entries", () => store.readJournal(0, id, 2)],
    ["first due timer", () => store.timers(0, "precise", 0, 1)],
  ];
  console.log("read                        at once  µs each   our µs    Redis µs");
  for (const [name, read] of reads) for (const atOnce of [1, 32]) await measure(redis, name, atOnce, read);
}
