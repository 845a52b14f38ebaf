/** Measures the cost of more workers, and the effect on calls when a worker leaves. */
import { setTimeout as delay } from "node:timers/promises";
import { median, perInvocationUs, table } from "../harness/figures.ts";
import { until } from "../harness/processes.ts";
import { wrk, wrkAnswered } from "../harness/wrk.ts";
import { cpuOfCluster, difference, PARTITIONS, partitionsOf, total, untilBalanced } from "./world.mjs";

export async function measureWorkers(cluster, { rounds, seconds, note }) {
  const [ingress] = cluster.ingressUrls;
  const rows = [];
  for (const count of [1, 2, 4]) {
    while (cluster.workers.filter((worker) => worker.isRunning).length < count) await cluster.addWorker();
    const running = cluster.workers.filter((worker) => worker.isRunning);
    await untilBalanced(running);
    await wrk(ingress, "noop", 64, 2);
    const each = [];
    for (let round = 0; round < rounds; round++) {
      const before = cpuOfCluster(cluster);
      const result = await wrkAnswered(ingress, "noop", 64, seconds);
      const cpu = difference(cpuOfCluster(cluster), before);
      each.push({
        all: perInvocationUs(total(cpu), result.requests),
        worker: perInvocationUs(cpu.worker, result.requests),
        perSecond: result.perSecond,
      });
    }
    const of = (name) => median(each.map((figure) => figure[name])).toFixed(0);
    rows.push([count, of("all"), of("worker"), of("perSecond")]);
    note(`${count} workers: ${of("all")} µs per invocation`);
  }
  return `No-op handler, 64 connections, by the number of workers. Two processors bound the throughput, so only the cost says something.

${table(["Workers", "CPU µs per invocation", "of it workers", "Requests/s"], rows)}`;
}

/** Times of log lines of one kind by partition, last one of each. */
export function timesOf(worker, message) {
  const times = new Map();
  for (const line of worker.lines) {
    if (!line.includes(`"msg":"${message}"`)) continue;
    const { partition, ts } = JSON.parse(line);
    times.set(partition, Date.parse(ts));
  }
  return times;
}

/** Leaves the cluster with two workers. */
export async function measureHandOver(cluster, { note }) {
  const running = cluster.workers.filter((worker) => worker.isRunning);
  for (const worker of running.slice(2)) await worker.stop();
  const [stays, leaves] = running;
  await untilBalanced([stays, leaves]);
  const handOver = await handOverOf(cluster, stays, leaves);
  note(`hand-over: ${JSON.stringify(handOver)}`);
  const { gaps, drainMs, quietP99, p99, failed, requests } = handOver;
  return `Hand-over: one of two workers is stopped (SIGTERM) under 16 connections of the no-op handler. Of its ${gaps.length} partitions each was without a leader for
${median(gaps)} ms in the middle and ${Math.max(...gaps)} ms at worst (from its last "handed over" to the successor's "leading"); all were given away after ${drainMs.toFixed(0)} ms. p99 of
calls was ${p99.toFixed(0)} ms in the seconds around it, ${quietP99.toFixed(0)} ms before; ${failed} of ${requests} calls failed.`;
}

async function handOverOf(cluster, stays, leaves) {
  const [ingress] = cluster.ingressUrls;
  const quiet = await wrk(ingress, "noop", 16, 6);
  const load = wrk(ingress, "noop", 16, 6);
  await delay(2_000);
  const began = performance.now();
  const beganMs = Date.now();
  const stopped = leaves.stop().then(() => performance.now());
  await until("the partitions to be given away", async () => (await partitionsOf(stays)) === PARTITIONS);
  const drainMs = performance.now() - began;
  const busy = await load;
  await stopped;
  // What it gave away earlier, when more workers were there, went elsewhere.
  const given = [...timesOf(leaves, "handed over")].filter(([, at]) => at >= beganMs);
  const taken = timesOf(stays, "leading");
  const gaps = given.map(([partition, at]) => Math.max(0, taken.get(partition) - at));
  return { gaps, drainMs, quietP99: quiet.p99, p99: busy.p99, failed: busy.failed, requests: busy.requests };
}
