/**
 * What leadership costs: Redis's processor time and ours for each partition of a poll, by the number of partitions. Each worker of a cluster
 * reads the holders of all partitions and renews its own leases in every poll (250 ms), so this is the part of a cluster's work that grows
 * with workers × partitions. `docs/operating/scale.md` calculates with it.
 *
 * Run: `make microbench FILTER=redis/bench/leases`.
 */
import { silentLogger, systemClock } from "@perdure/base";
import { type RedisServer, startRedis } from "@perdure/servers";
import { connectRedis, RedisLeases, RedisMembership } from "../src/index.js";

const PARTITION_COUNTS = [24, 240, 1_000];
const POLLS = 400;
const MEMBERS = 100;
/** Long enough that no lease ends while it is measured. */
const LEASE_MS = 600_000;

async function redisCpuMicros(redis: RedisServer): Promise<number> {
  const text = String(await redis.request("INFO", "cpu"));
  const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(text)?.[1] ?? 0);
  return (field("used_cpu_user") + field("used_cpu_sys")) * 1e6;
}

/** Prints processor time of Redis and of this process for each of `count` things that `poll` handles, less what an idle Redis uses. */
async function measure(redis: RedisServer, what: string, count: number, poll: () => Promise<unknown>): Promise<void> {
  for (let n = 0; n < POLLS / 4; n++) await poll();
  const redisBefore = await redisCpuMicros(redis);
  const ownBefore = process.cpuUsage();
  for (let n = 0; n < POLLS; n++) await poll();
  const own = process.cpuUsage(ownBefore);
  const redisMicros = (await redisCpuMicros(redis)) - redisBefore;
  const each = (micros: number): string => (micros / POLLS / count).toFixed(2).padStart(7);
  console.log(`${what.padEnd(34)} Redis ${each(redisMicros)} µs   worker ${each(own.user + own.system)} µs`);
}

await using redis = await startRedis();
await using connections = await connectRedis(
  { nodes: [{ host: "127.0.0.1", port: redis.port }] },
  { clock: systemClock, logger: silentLogger },
);
const leases = new RedisLeases(connections, { environment: "bench", worker: "w0", leaseMs: LEASE_MS }, systemClock);
for (const partitions of PARTITION_COUNTS) {
  const all = Array.from({ length: partitions }, (_, partition) => partition);
  await leases.acquire(all);
  await measure(redis, `holders, each of ${partitions} partitions`, partitions, () => leases.holders(all));
  await measure(redis, `renew, each of ${partitions} partitions`, partitions, () => leases.renew(all));
}
const membership = new RedisMembership(connections, { environment: "bench", memberMs: LEASE_MS });
for (let n = 0; n < MEMBERS; n++) await membership.beat({ id: `w${n}`, address: `10.0.0.${n}:9071`, draining: false });
const self = { id: "w0", address: "10.0.0.0:9071", draining: false };
await measure(redis, `heartbeat, each of ${MEMBERS} workers`, MEMBERS, () => membership.beat(self));
