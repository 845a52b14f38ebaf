/** Load of invocations on Redis: commands, scripts, round trips, bytes. */
import { setTimeout as delay } from "node:timers/promises";
import { table } from "../harness/figures.ts";
import { WORKLOADS, wrk, wrkAnswered } from "../harness/wrk.ts";
import { difference, redisCounters, watchCommands } from "./world.mjs";

/** Per invocation, beyond what an idle cluster does all the time. */
export async function measureRedis(cluster, { workloads, seconds, note }) {
  const [ingress] = cluster.ingressUrls;
  const idleSeconds = 4;
  const before = await redisCounters(cluster.redis);
  await delay(idleSeconds * 1_000);
  const idle = difference(await redisCounters(cluster.redis), before);
  const sum = (counts) => [...counts.values()].reduce((all, n) => all + n, 0);
  const idleWatch = await watchCommands(cluster.redis, idleSeconds * 1_000);
  const rows = [];
  for (const name of workloads) {
    const { title } = WORKLOADS[name];
    for (const connections of [1, 64]) {
      const before = await redisCounters(cluster.redis);
      const began = performance.now();
      const { requests } = await wrkAnswered(ingress, name, connections, seconds);
      const took = (performance.now() - began) / 1_000;
      const used = difference(await redisCounters(cluster.redis), before);
      const watchSeconds = 2.5;
      const [watched, { sent, inScripts }] = await Promise.all([
        wrk(ingress, name, connections, 2),
        watchCommands(cluster.redis, watchSeconds * 1_000),
      ]);
      const commands = (of, idly) => (sum(of) - (sum(idly) / idleSeconds) * watchSeconds) / watched.requests;
      const per = (key) => (used[key] - (idle[key] / idleSeconds) * took) / requests;
      rows.push([
        title,
        connections,
        commands(sent, idleWatch.sent).toFixed(2),
        commands(inScripts, idleWatch.inScripts).toFixed(1),
        per("reads").toFixed(2),
        per("received").toFixed(0),
        Math.max(0, per("sent")).toFixed(0),
        per("scriptUs").toFixed(0),
      ]);
      note(`${title}, ${connections} connections: ${rows.at(-1).slice(2).join(", ")}`);
    }
  }
  return described(rows, { scripts: idle.scripts / idleSeconds, commands: sum(idleWatch.inScripts) / idleSeconds });
}

function described(rows, idle) {
  const head = [
    "Work",
    "Connections",
    "Commands sent",
    "Commands within scripts",
    "Reads of the socket",
    "Bytes in",
    "Bytes out",
    "µs in scripts",
  ];
  return `Redis commands of an invocation, beyond those of an idle worker: ${idle.scripts.toFixed(0)} scripts a second, with ${idle.commands.toFixed(0)} commands within, to renew leases
and to see who leads. A command sent carries the turns of all partitions that end together; a read of the socket is at most one round trip.

${table(head, rows)}`;
}
