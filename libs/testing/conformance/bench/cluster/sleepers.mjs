/** Sleeping invocations in Redis: memory of each, time until they have another leader, and that each wakes once. */
import { setTimeout as delay } from "node:timers/promises";
import { median, table, yes } from "../harness/figures.ts";
import { residentMiB, until } from "../harness/processes.ts";
import { timesOf } from "./moves.mjs";
import {
  cpuOfCluster,
  difference,
  PARTITIONS,
  partitionsOf,
  redisCounters,
  register,
  startCluster,
  untilBalanced,
} from "./world.mjs";

/** Counters that woken invocations increment. */
const TALLIES = 64;
/** Several kills: the age of the leases at the kill dominates the time of one. */
const KILLS = 5;

export async function measureSleepers(endpoint, { count, note }) {
  await using cluster = await startCluster({ workers: 2, gateways: 1 });
  await untilBalanced(cluster.workers);
  await register(cluster, endpoint.uri);
  // Late enough that all are asleep and have another leader before the first one wakes, on a busy machine too.
  const wakeUpAtMs = Date.now() + 90_000 + KILLS * 15_000 + count * 5;
  let sent = 0;
  const putToSleep = (upTo) =>
    Promise.all(
      Array.from({ length: 64 }, async () => {
        while (sent < upTo) {
          const id = sent++;
          const answer = await fetch(`${cluster.ingressUrls[0]}/Sleeper/sleep/send`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({
              id,
              ms: Math.max(0, wakeUpAtMs - Date.now()) + (id % 5_000),
              tellKey: `woken ${id % TALLIES}`,
            }),
          });
          if (answer.status !== 202) throw new Error(`send answered ${answer.status} ${await answer.text()}`);
          await answer.arrayBuffer();
        }
      }),
    );
  const quiet = () =>
    until(
      "the cluster to be quiet",
      async () => {
        const before = cpuOfCluster(cluster).worker;
        await delay(1_000);
        return cpuOfCluster(cluster).worker - before < 0.2;
      },
      { withinMs: 300_000 },
    );
  const weigh = async () => ({
    redis: (await redisCounters(cluster.redis)).memory,
    workers: cluster.workers.reduce((sum, { pid }) => sum + residentMiB(pid), 0) * 1024 * 1024,
  });
  // The first tenth fills memory that every process keeps for any number of invocations.
  await putToSleep(count / 10);
  await quiet();
  const before = await weigh();
  await putToSleep(count);
  await quiet();
  const grown = difference(await weigh(), before);
  const redisBytes = grown.redis / (count * 0.9);
  const workerBytes = Math.max(0, grown.workers / (count * 0.9));
  note(`${count} asleep: ${redisBytes.toFixed(0)} bytes of Redis, ${workerBytes.toFixed(0)} of the workers each`);

  const takeOvers = [];
  for (let n = 0; n < KILLS; n++) {
    takeOvers.push(await takeOver(cluster.workers[n % 2], cluster.workers[(n + 1) % 2]));
    note(`taken over in ${takeOvers.at(-1)} ms`);
    if (Date.now() > wakeUpAtMs) throw new Error("the machine was too slow: suspended invocations resumed before a leader died");
    await untilBalanced(cluster.workers);
  }
  const worst = Math.max(...takeOvers);
  const woken = await untilAllWoke(cluster.ingressUrls[0], count, note);
  return `${count.toLocaleString("en")} invocations asleep in Redis, two workers, of which one is killed (SIGKILL), ${KILLS} times by turns.

${table(
  ["Work", "Measured", "Goal", "Reached"],
  [
    ["Redis memory per suspended invocation, bytes", redisBytes.toFixed(0), "–", "–"],
    ["workers' memory per suspended invocation, bytes", workerBytes.toFixed(0), "–", "–"],
    [
      "kill of a worker until the other leads all 24 partitions, s: median, worst",
      `${(median(takeOvers) / 1000).toFixed(2)}, ${(worst / 1000).toFixed(2)}`,
      "≤ 3 s",
      yes(worst <= 3_000),
    ],
    ["resumed, each incremented a counter once", String(woken.counted), String(count), yes(woken.counted === count)],
    ["steps run again because the attempt's leader went before they were stored", String(woken.stepsAgain), "–", "–"],
  ],
)}`;
}

/** Milliseconds from the kill to the last "leading" line of the other worker; the killed one is started again. */
async function takeOver(dies, stays) {
  const before = timesOf(stays, "leading");
  const beganMs = Date.now();
  await dies.kill();
  await until("the other worker to lead all", async () => (await partitionsOf(stays)) === PARTITIONS);
  const taken = [...timesOf(stays, "leading")].filter(([partition, at]) => at !== before.get(partition));
  await dies.startAgain();
  await dies.ready();
  return Math.max(...taken.map(([, at]) => at - beganMs));
}

/** The number of woken invocations by counters, which take each message once: this number must be exact. */
async function untilAllWoke(ingress, count, note) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ from: 0, to: count });
  const call = async (path, more) => (await fetch(`${ingress}/${path}`, { method: "POST", ...more })).json();
  let steps;
  await until(
    "every suspended invocation to resume",
    async () => {
      steps = await call("Sleeper/count", { headers, body });
      if (steps.woken < count) await delay(500);
      return steps.woken >= count;
    },
    { withinMs: 900_000 },
  );
  let counted;
  const read = async () => {
    const counts = await Promise.all(
      Array.from({ length: TALLIES }, (_, n) => call(`Counter/${encodeURIComponent(`woken ${n}`)}/read`)),
    );
    counted = counts.reduce((sum, n) => sum + n, 0);
  };
  await until(
    "every counter to be incremented",
    async () => {
      await read();
      if (counted < count) await delay(500);
      return counted >= count;
    },
    { withinMs: 300_000 },
  );
  await delay(2_000); // Nothing comes twice a little later either.
  await read();
  note(`woken ${counted}, steps run again ${steps.twice}`);
  return { counted, stepsAgain: steps.twice };
}
