/** The cluster under measurement, and the resources that its processes and its Redis have used so far. */
import { connect } from "node:net";
import { join } from "node:path";
import { bundle } from "../../../../../deploy/bundle.mjs";
import { cpuSeconds, root, until } from "../harness/processes.ts";

/** The default number of partitions. */
export const PARTITIONS = 24;

/** The same cluster as that of the tests. Its module finds the tree by its own place, so its bundle lies as deep as its source. */
export async function startCluster(options) {
  const outdir = join(root, "libs/testing/dev-cluster/dist");
  await bundle(join(root, "libs/testing/dev-cluster/src/dev-cluster.ts"), outdir);
  const { DevCluster } = await import(join(outdir, "main.mjs"));
  return DevCluster.start(options);
}

/** Partitions that a worker leads now. */
export async function partitionsOf(worker) {
  const { probes } = await worker.ready();
  const text = await (await fetch(probes.replace(/readyz$/, "metrics"))).text();
  return Number(/^perdure_worker_partitions(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? 0);
}

/** Resolves when the workers lead all partitions and each has its share. */
export function untilBalanced(workers) {
  const least = Math.floor(PARTITIONS / workers.length);
  return until("every partition to have a leader", async () => {
    const led = await Promise.all(workers.map(partitionsOf));
    return led.reduce((sum, n) => sum + n, 0) === PARTITIONS && Math.min(...led) >= least;
  });
}

export async function register(cluster, uri) {
  const answer = await fetch(`${cluster.adminUrl}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri, force: true }),
  });
  if (!answer.ok) throw new Error(`registering answered ${answer.status} ${await answer.text()}`);
  await until("the gateway to know the services", async () => {
    const call = await fetch(`${cluster.ingressUrls[0]}/Bench/noop`, { method: "POST" });
    await call.arrayBuffer();
    return call.ok;
  });
}

// ── processors ───────────────────────────────────────────────────────────────────────────────────

/** CPU seconds of each role so far; `rest` is the registry, the management API and the database. */
export function cpuOfCluster({ gateways, workers, redis, registry, admin, postgres }) {
  const sum = (programs) => programs.reduce((total, { pid }) => total + cpuSeconds(pid), 0);
  return {
    gateway: sum(gateways),
    worker: sum(workers.filter((worker) => worker.isRunning)),
    redis: cpuSeconds(redis.pid),
    rest: sum([registry, admin]) + cpuSeconds(postgres.pid),
  };
}

/** Sum of the result of `cpuOfCluster`. */
export function total(cpu) {
  return cpu.gateway + cpu.worker + cpu.redis + cpu.rest;
}

// ── Redis ────────────────────────────────────────────────────────────────────────────────────────

/** Counters that only rise, but for `memory`, and the scripts' microseconds. */
export async function redisCounters(redis) {
  const text = String(await redis.request("INFO", "everything"));
  const number = (name) => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(text)?.[1]);
  const scripts = [...text.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)/gm)];
  return {
    scripts: scripts.reduce((sum, [, calls]) => sum + Number(calls), 0),
    scriptUs: scripts.reduce((sum, [, , us]) => sum + Number(us), 0),
    received: number("total_net_input_bytes"),
    sent: number("total_net_output_bytes"),
    reads: number("total_reads_processed"),
    memory: number("used_memory"),
  };
}

export function difference(after, before) {
  return Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
}

/** Commands by what they are, sent by clients and run by scripts, for so long. Watching costs Redis, so nothing else is measured then. */
export function watchCommands(redis, ms) {
  return new Promise((resolve, reject) => {
    const socket = connect(redis.port, "127.0.0.1", () => socket.write("*1\r\n$7\r\nMONITOR\r\n"));
    const sent = new Map();
    const inScripts = new Map();
    let rest = "";
    socket.setEncoding("latin1");
    socket.on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const [, where, name] = /^\+[\d.]+ \[\d+ (\S+)\] "(\w+)"/.exec(line) ?? [];
        if (name === undefined) continue;
        const counts = where === "lua" ? inScripts : sent;
        counts.set(name.toUpperCase(), (counts.get(name.toUpperCase()) ?? 0) + 1);
      }
    });
    socket.once("error", reject);
    setTimeout(() => {
      socket.destroy();
      resolve({ sent, inScripts });
    }, ms);
  });
}
