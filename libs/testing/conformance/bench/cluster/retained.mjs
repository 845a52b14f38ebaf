/** Measures the size of an ended invocation in Redis while its journal is kept, which determines the memory that an environment needs. */
import { setTimeout as delay } from "node:timers/promises";
import { table } from "../harness/figures.ts";
import { difference, redisCounters, register, startCluster, untilBalanced } from "./world.mjs";

const CALLERS = 64;
/** Part of Redis' memory that may still change while nothing happens. */
const STILL_BYTES = 64 * 1024;

export async function measureRetained(endpoint, { count, note }) {
  const rows = [];
  for (const [handler, what] of [
    ["noop", "no-op: two journal entries"],
    ["three", "three `ctx.run` steps: eight journal entries"],
  ]) {
    await using cluster = await startCluster({ workers: 1, gateways: 1 });
    await untilBalanced(cluster.workers);
    await register(cluster, endpoint.uri);
    await call(cluster, handler, count / 10); // What every process keeps, however little there is to keep.
    const before = await still(cluster.redis);
    await call(cluster, handler, count);
    const bytes = difference(await still(cluster.redis), before).memory / count;
    note(`${what}: ${bytes.toFixed(0)} bytes of Redis each while kept`);
    rows.push([what, bytes.toFixed(0), Math.floor(2 ** 30 / bytes).toLocaleString("en")]);
  }
  return `Ended invocations (${count.toLocaleString("en")} of each) in Redis, for as long as their journals are kept (a day by default, or until they go to the archive).

${table(["Handler", "Bytes of Redis each", "Kept in a GiB"], rows)}`;
}

async function call({ ingressUrls: [url] }, handler, count) {
  let left = count;
  const caller = async () => {
    while (left-- > 0) {
      const answer = await fetch(`${url}/Bench/${handler}`, { method: "POST" });
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`${handler} answered ${answer.status}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

/** Counters once memory does not move any more. */
async function still(redis) {
  for (let before = await redisCounters(redis); ; ) {
    await delay(2_000);
    const now = await redisCounters(redis);
    if (Math.abs(now.memory - before.memory) < STILL_BYTES) return now;
    before = now;
  }
}
