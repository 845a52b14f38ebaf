/**
 * The platform: how soon an environment answers, what an idle one costs, what its gateway and a tunnel add to a call, how soon a
 * revoked key is refused, and how far one tenant's flood moves another's latency.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ChildProgram } from "@perdure/processes/child-program";
import { call, createEnvironment, register, runtimePids, someone, startCloud } from "./cloud-world.mjs";
import { Endpoint } from "./harness/endpoints.ts";
import { median, table, yes } from "./harness/figures.ts";
import { cpuSeconds, residentMiB, root, until } from "./harness/processes.ts";
import { Server } from "./harness/servers.ts";
import { wrk } from "./harness/wrk.ts";

const FIRST_PORT = 22_000;
const ENVIRONMENTS = 6;
const REVOCATIONS = 10;
/** Rate of the flood: ten times what a plan of 20 requests a second allows. */
const FLOOD_PER_SECOND = 200;

const trimmed = (url) => url.replace(/\/$/, "");

export async function measureCloud({ rounds, seconds, quick, say, machine, commit }) {
  using endpoint = await Endpoint.start("typescript");
  await using cloud = await startCloud(FIRST_PORT);
  const user = await someone(cloud, "bench@example.com", "team");
  const bench = new CloudBench({ cloud, user, endpoint, rounds, seconds, quick, say });
  const environments = await measureEnvironments(bench);
  await measureGateway(bench, environments[0]);
  await measureRevocation(bench, environments[0]);
  await measureTunnel(bench, environments);
  await measureNeighbour(bench, environments[2]);
  return textOf(bench, { machine, commit });
}

/** Holds the parameters of a measurement and the rows that it produced, printed as they come. */
class CloudBench {
  rows = [];
  /** Loads of the machine while it was measured. */
  loads = [];

  constructor(parts) {
    Object.assign(this, parts);
  }

  row(what, figure, goal, met) {
    this.rows.push([what, figure, goal ?? "–", goal === undefined ? "–" : yes(met)]);
    const [load] = loadavg();
    this.loads.push(load);
    const outcome = goal === undefined ? "" : ` (goal ${goal}) ${met ? "ok" : "MISSED"}`;
    this.say(`${what}: ${figure}${outcome} (load ${load.toFixed(1)})`);
  }

  /** No-ops through the gateway. */
  through(environment, connections, length = this.seconds) {
    return wrk(trimmed(environment.ingressBaseUrl), "noop", connections, length, { headers: bearer(environment) });
  }
}

const bearer = ({ apiKey }) => [`authorization: Bearer ${apiKey}`];

/** Measures the time from nothing to a durable call, and the cost of idle environments. Returns the environments. */
async function measureEnvironments(bench) {
  const { cloud, user, endpoint, quick } = bench;
  const firstCallMs = [];
  const environments = [];
  for (let i = 0; i < ENVIRONMENTS; i++) {
    const began = performance.now();
    const environment = await createEnvironment(user, `bench-${i}`);
    await register(environment, endpoint.uri);
    await until("a call to be answered", async () => (await call(environment)) === 200);
    firstCallMs.push(performance.now() - began);
    environments.push(environment);
  }
  const soonest = median(firstCallMs);
  bench.row("CreateEnvironment to the first durable call, s", (soonest / 1000).toFixed(2), "≤ 5", soonest <= 5000);
  await delay(quick ? 3_000 : 15_000);
  const pids = runtimePids(cloud.directory);
  if (pids.length !== ENVIRONMENTS) throw new Error(`${pids.length} runtimes run instead of ${ENVIRONMENTS}`);
  const idleSeconds = quick ? 5 : 20;
  const before = pids.map(cpuSeconds);
  await delay(idleSeconds * 1000);
  const idleCpu = pids.map((pid, i) => ((cpuSeconds(pid) - before[i]) / idleSeconds) * 100);
  bench.row(`idle environment, MiB resident (median of ${ENVIRONMENTS})`, median(pids.map(residentMiB)).toFixed(0));
  bench.row("idle environment, % of a processor", median(idleCpu).toFixed(2));
  return environments;
}

/** Measures the latency that the gateway adds. */
async function measureGateway(bench, first) {
  const { endpoint, rounds, seconds } = bench;
  await using plain = await Server.create("perdure");
  await plain.start();
  await plain.register(endpoint.uri);
  const figures = { gateway: [], plain: [] };
  await wrk(plain.ingress, "noop", 1, 2);
  await bench.through(first, 1, 2);
  for (let round = 0; round < rounds; round++) {
    figures.plain.push((await wrk(plain.ingress, "noop", 1, seconds)).p50);
    figures.gateway.push((await bench.through(first, 1)).p50);
  }
  const added = median(figures.gateway) - median(figures.plain);
  const told = `${added.toFixed(2)} (${median(figures.plain).toFixed(2)} → ${median(figures.gateway).toFixed(2)})`;
  bench.row("the gateway adds at p50, 1 connection, ms", told, "≤ 0.5", added <= 0.5);
}

async function measureRevocation(bench, first) {
  const { user } = bench;
  const revokedMs = [];
  for (let i = 0; i < REVOCATIONS; i++) {
    const key = await user.call("CreateApiKey", { environmentId: first.environmentId, roleId: "rst:role::FullAccess" });
    const visitor = { ...first, apiKey: key.apiKey };
    await until("the new key to be good", async () => (await call(visitor)) === 200);
    await user.call("DeleteApiKey", { environmentId: first.environmentId, keyId: key.keyId });
    const began = performance.now();
    await until("the revoked key to be refused", async () => (await call(visitor)) === 401);
    revokedMs.push(performance.now() - began);
  }
  const slowest = Math.max(...revokedMs);
  const revocation = `${median(revokedMs).toFixed(0)} (at most ${slowest.toFixed(0)})`;
  bench.row(`revoked key refused after, ms (median of ${REVOCATIONS})`, revocation, "≤ 30000", slowest <= 30_000);
}

async function measureTunnel(bench, [first, second]) {
  const { cloud, endpoint, rounds } = bench;
  const direct = (await bench.through(first, 1)).p50;
  const { port } = new URL(endpoint.uri);
  await using tunnel = await openTunnel(cloud, second, port);
  await register(second, `tunnel://bench:${port}`);
  await until("a call through the tunnel", async () => (await call(second)) === 200);
  await bench.through(second, 1, 2);
  const tunnelled = { one: [], many: [] };
  const straight = { one: [direct], many: [] };
  for (let round = 0; round < rounds; round++) {
    straight.one.push((await bench.through(first, 1)).p50);
    tunnelled.one.push((await bench.through(second, 1)).p50);
    straight.many.push((await bench.through(first, 32)).perSecond);
    tunnelled.many.push((await bench.through(second, 32)).perSecond);
  }
  const added = median(tunnelled.one) - median(straight.one);
  bench.row("a tunnel adds at p50, 1 connection, ms", added.toFixed(2));
  const [many, straightMany] = [median(tunnelled.many), median(straight.many)];
  bench.row("calls/s through a tunnel, 32 connections", `${many.toFixed(0)} (without one ${straightMany.toFixed(0)})`);
  if (!tunnel.isRunning) throw new Error("the tunnel ended by itself");
}

async function measureNeighbour(bench, quiet) {
  const { cloud, endpoint, rounds, seconds } = bench;
  const noisy = await createEnvironment(await someone(cloud, "noisy@example.com", "free"), "noisy");
  await register(noisy, endpoint.uri);
  const alone = [];
  const beside = [];
  for (let round = 0; round < Math.max(rounds, 3); round++) {
    alone.push((await wrk(trimmed(quiet.ingressBaseUrl), "noop", 1, seconds, { headers: bearer(quiet) })).p99);
    const stop = new AbortController();
    const flood = floodOf(noisy, stop.signal);
    beside.push((await wrk(trimmed(quiet.ingressBaseUrl), "noop", 1, seconds, { headers: bearer(quiet) })).p99);
    stop.abort();
    await flood;
  }
  const ratio = median(beside) / median(alone);
  const told = `${ratio.toFixed(2)} (${median(alone).toFixed(1)} → ${median(beside).toFixed(1)} ms)`;
  bench.row(
    `p99 beside a neighbour who calls ${FLOOD_PER_SECOND} times a second and may 20 times, ratio`,
    told,
    "≤ 1.1",
    ratio <= 1.1,
  );
}

function textOf({ rows, loads, rounds, seconds }, { machine, commit }) {
  const date = new Date().toISOString().slice(0, 10);
  return `## Cloud

\`make bench ONLY=cloud\` on ${date}, commit ${commit}, Node ${process.version}, ${machine}, load of the machine ${Math.min(...loads).toFixed(1)}–${Math.max(...loads).toFixed(1)} meanwhile. The platform of
\`make cloud\` (PostgreSQL, tenancy, gateway, relay, ${ENVIRONMENTS} runtimes), one SDK endpoint and wrk on the same processors; plans without limits of rate
but for the neighbour; ${rounds} rounds of
${seconds} s, medians. The neighbour's flood costs processor time of its own, which a machine of two has no spare of.

${table(["What", "Figure", "Goal", "Reached"], rows)}
`;
}

/** Sends calls at a steady rate until the signal fires. */
async function floodOf(environment, signal) {
  const everyMs = 1000 / FLOOD_PER_SECOND;
  const under = new Set();
  const began = performance.now();
  for (let sent = 0; !signal.aborted; sent++) {
    const waitMs = began + sent * everyMs - performance.now();
    if (waitMs > 0) await delay(waitMs);
    if (under.size >= 256) continue; // The server is saturated: no further requests.
    const one = call(environment).finally(() => under.delete(one));
    under.add(one);
  }
  await Promise.all(under);
}

/** Perdure's CLI with an API key. */
async function openTunnel(cloud, environment, localPort) {
  const home = mkdtempSync(join(tmpdir(), "bench-tunnel-"));
  const args = ["tunnel", "--tunnel-name", "bench", "--local-port", localPort, "--no-remote"];
  const program = await ChildProgram.start({
    name: "the tunnel",
    group: "shared", // Ctrl-C ends it with the bench.
    command: join(root, "perdure"),
    args,
    cwd: home,
    env: {
      ...process.env,
      HOME: home,
      PERDURE_API_URL: cloud.apiUrl,
      PERDURE_API_KEY: environment.apiKey,
      PERDURE_ENVIRONMENT_ID: environment.environmentId,
      PERDURE_SIGNING_PUBLIC_KEY: environment.signingPublicKey,
      PERDURE_TUNNEL_SERVERS: `http://127.0.0.1:${cloud.tunnelPort}`,
    },
  });
  await program.ready(() => program.lines.some((line) => line.includes("tunnel://bench")));
  return {
    get isRunning() {
      return program.isRunning;
    },
    async [Symbol.asyncDispose]() {
      await program.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
