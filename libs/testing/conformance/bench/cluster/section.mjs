/**
 * The cluster beside standalone and the reference: what an invocation costs all of its processes together, what it requests of Redis, how
 * that grows with workers, how long a partition is without a leader when it is handed over, and what sleeping invocations weigh.
 */
import { loadavg } from "node:os";
import { Endpoint } from "../harness/endpoints.ts";
import { median, perInvocationUs, table, yes } from "../harness/figures.ts";
import { cpuSeconds } from "../harness/processes.ts";
import { REFERENCE_VERSION, Server } from "../harness/servers.ts";
import { WORKLOADS, wrk, wrkAnswered } from "../harness/wrk.ts";
import { measureHandOver, measureWorkers } from "./moves.mjs";
import { measureRedis } from "./redis.mjs";
import { measureRetained } from "./retained.mjs";
import { measureSleepers } from "./sleepers.mjs";
import { cpuOfCluster, difference, register, startCluster, total, untilBalanced } from "./world.mjs";

/** Handlers by which the cluster is compared. */
const COMPARED = ["noop", "three", "counter"];

export async function measureCluster({ rounds, seconds, sleepers, say, machine, commit }) {
  const loads = [];
  const note = (text) => {
    loads.push(loadavg()[0]);
    say(`${text} (load ${loadavg()[0].toFixed(1)})`);
  };
  using endpoint = await Endpoint.start("typescript");
  const parts = [];
  {
    await using world = await startWorld(endpoint);
    parts.push(costs(await compare(world, { rounds, seconds, note })));
    parts.push(await measureRedis(world.cluster, { workloads: COMPARED, seconds, note }));
    await world.reference.stop();
    await world.standalone.stop();
    parts.push(await measureWorkers(world.cluster, { rounds, seconds, note }));
    parts.push(await measureHandOver(world.cluster, { note }));
  }
  parts.push(await measureRetained(endpoint, { count: Math.min(sleepers, 20_000), note }));
  parts.push(await measureSleepers(endpoint, { count: sleepers, note }));
  const date = new Date().toISOString().slice(0, 10);
  return `## Cluster

\`make bench ONLY=cluster\` on ${date}, commit ${commit}, Node ${process.version}, ${machine}, load of the machine ${Math.min(...loads).toFixed(1)}–${Math.max(...loads).toFixed(1)} meanwhile. One gateway, one worker,
registry, management API, PostgreSQL and Redis (\`appendonly yes\`, \`appendfsync always\`) beside the standalone server and the reference server ${REFERENCE_VERSION},
one SDK endpoint, ${rounds} alternating rounds of ${seconds} s, medians. CPU is what the kernel counts for the processes (user and system), which other
work on the machine inflates for all of them alike: trust the ratios.

${parts.join("\n\n")}
`;
}

async function startWorld(endpoint) {
  await using owned = new AsyncDisposableStack();
  const cluster = owned.use(await startCluster({ workers: 1, gateways: 1 }));
  const standalone = owned.use(await Server.create("perdure"));
  const reference = owned.use(await Server.create("reference"));
  await standalone.start();
  await reference.start();
  await untilBalanced(cluster.workers);
  for (const server of [standalone, reference]) await server.register(endpoint.uri);
  await register(cluster, endpoint.uri);
  const all = owned.move();
  return { endpoint, cluster, standalone, reference, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

// ── cost ─────────────────────────────────────────────────────────────────────────────────────────

/** Returns the medians of each server by workload, the cluster's by role. */
async function compare({ cluster, standalone, reference }, { rounds, seconds, note }) {
  const figures = {};
  for (const name of COMPARED) {
    const { title } = WORKLOADS[name];
    const ingresses = { cluster: cluster.ingressUrls[0], standalone: standalone.ingress, reference: reference.ingress };
    const of = { cluster: [], standalone: [], reference: [] };
    for (const ingress of Object.values(ingresses)) await wrk(ingress, name, 64, Math.max(2, Math.ceil(seconds / 2)));
    for (let round = 0; round < rounds; round++) {
      for (const server of [reference, standalone]) {
        const before = cpuSeconds(server.pid);
        const result = await wrkAnswered(server.ingress, name, 64, seconds);
        const kind = server === reference ? "reference" : "standalone";
        of[kind].push({ ...result, all: perInvocationUs(cpuSeconds(server.pid) - before, result.requests) });
      }
      const before = cpuOfCluster(cluster);
      const result = await wrkAnswered(ingresses.cluster, name, 64, seconds);
      const cpu = difference(cpuOfCluster(cluster), before);
      const roles = Object.fromEntries(Object.entries(cpu).map(([role, used]) => [role, perInvocationUs(used, result.requests)]));
      of.cluster.push({ ...result, ...roles, all: perInvocationUs(total(cpu), result.requests) });
    }
    const medians = (list) => Object.fromEntries(Object.keys(list[0]).map((key) => [key, median(list.map((each) => each[key]))]));
    figures[name] = { title, cluster: medians(of.cluster), standalone: medians(of.standalone), reference: medians(of.reference) };
    const { cluster: ours, standalone: alone } = figures[name];
    note(
      `${title}: cluster ${ours.all.toFixed(0)} µs, standalone ${alone.all.toFixed(0)}, ratio ${(ours.all / alone.all).toFixed(2)}`,
    );
  }
  return figures;
}

function costs(figures) {
  const whole = (n) => n.toFixed(0);
  const cpu = Object.values(figures).map(({ title, cluster, standalone, reference }) => {
    const ratio = cluster.all / standalone.all;
    return [
      title,
      whole(cluster.all),
      `${whole(cluster.gateway)} + ${whole(cluster.worker)} + ${whole(cluster.redis)} + ${whole(cluster.rest)}`,
      whole(standalone.all),
      whole(reference.all),
      ratio.toFixed(2),
      yes(ratio <= 1.6),
      (cluster.all / reference.all).toFixed(2),
      yes(cluster.all < reference.all),
    ];
  });
  const speed = Object.values(figures).map(({ title, cluster, standalone, reference }) => [
    title,
    ...[cluster, standalone, reference].map(({ perSecond }) => whole(perSecond)),
    (cluster.perSecond / reference.perSecond).toFixed(2),
    yes(cluster.perSecond > reference.perSecond),
    ...[cluster, standalone, reference].map(({ p99 }) => whole(p99)),
  ]);
  return `CPU per invocation in µs, 64 connections. The cluster's parts are gateway + worker + Redis + all the rest.

${table(["Work", "Cluster", "Parts", "Standalone", "Reference", "Cluster / standalone", "≤ 1.6", "Cluster / reference", "< 1"], cpu)}

Requests/s and p99 in ms; all of it shares the processors with the endpoint and wrk.

${table(["Work", "Cluster", "Standalone", "Reference", "Cluster / reference", "> 1", "p99 cluster", "p99 standalone", "p99 reference"], speed)}`;
}
