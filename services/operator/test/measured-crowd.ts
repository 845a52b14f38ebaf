/** Measures what many environments cost the real operator program, beside a real API server; used by a suite and by `make bench`. */
import { readFileSync } from "node:fs";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { connectKubernetes } from "@perdure/kubernetes";
import { startKubernetes, startPostgres } from "@perdure/servers";
import { Crowd } from "./crowd.js";
import { OperatorProgram } from "./program.js";
import { defineAll, furnish } from "./world.js";

export interface CrowdOptions {
  readonly count: number;
  /** The operator's `reconcile.per-second`. */
  readonly perSecond: number;
  readonly readyWithinMs: number;
  /** Time for which the finished cell is observed after the last reconcile. */
  readonly quietMs: number;
  readonly report?: (line: string) => void;
}

/** Differences of counters over a time. */
export interface Spent {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly reconciles: number;
  /** Requests to the API server by verb; those that opened watches among them. */
  readonly requests: Readonly<Record<string, number>>;
}

export interface CrowdFigures {
  /** Time from the creation of the first environment to the readiness of the last. */
  readonly growing: Spent;
  readonly quiet: Spent;
  /** Resident memory of the operator: the most there was, and in the end. */
  readonly peakMiB: number;
  readonly lastMiB: number;
  /** Reconciles by how they ended. */
  readonly results: Readonly<Record<string, number>>;
}

const TICKS_PER_SECOND = 100;
const MIB = 1024;
const WATCH_MS_MAX = 60_000;
/** More than by default: each waits for the API server, which here shares two processors with all other processes. */
const RECONCILES_AT_ONCE = 32;
/** Time without any reconcile after which those that followed from earlier writes are complete. */
const QUIESCENT_MS = 2_000;
const QUIESCENT_MS_MAX = 120_000;

/** The bundle of the operator must have been made. */
export async function measureCrowd(options: CrowdOptions): Promise<CrowdFigures> {
  const { count, perSecond, readyWithinMs, quietMs, report = () => undefined } = options;
  const ports = { clock: systemClock, random: systemRandom, logger: silentLogger };
  await using kubernetes = await startKubernetes({ controllers: false });
  await using client = connectKubernetes(kubernetes.kubeconfig());
  await using postgres = await startPostgres();
  await furnish(kubernetes, postgres.url);
  await defineAll(client);
  await using crowd = await Crowd.start(client, ports);
  await using program = await OperatorProgram.start({
    "node-name": "crowded",
    "cell.region": "eu",
    "cell.domain": "example.org",
    "kubernetes.kubeconfig-file": await kubernetes.kubeconfigFile(),
    "images.registry": "images.example.org/perdure",
    "postgres.secret-name": "postgres",
    "reconcile.per-second": perSecond,
    "reconcile.workers": RECONCILES_AT_ONCE,
  });
  for (const deadline = performance.now() + WATCH_MS_MAX; !(await program.probe()).startsWith("200 "); ) {
    if (performance.now() > deadline) throw new Error(`the operator does not watch: ${await program.probe()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const begun = await sample(program);
  const growing = crowd.grow(count);
  const progressTimer = setInterval(() => report(`${crowd.ready} of ${crowd.size} environments are ready`), 10_000);
  try {
    await Promise.all([growing, crowd.untilReady(count, readyWithinMs)]);
  } finally {
    clearInterval(progressTimer);
  }
  const grown = await sample(program);
  const quiescent = await untilQuiescent(program);
  report(`all ${count} are ready; watching for ${Math.round(quietMs / 1000)} s`);
  await new Promise((resolve) => setTimeout(resolve, quietMs));
  const rested = await sample(program);
  return {
    growing: spentBetween(begun, grown),
    quiet: spentBetween(quiescent, rested),
    peakMiB: rested.peakMiB,
    lastMiB: rested.residentMiB,
    results: byLabel(rested.metrics, "perdure_operator_reconciles_total", "result"),
  };
}

async function untilQuiescent(program: OperatorProgram): Promise<Sample> {
  const deadline = performance.now() + QUIESCENT_MS_MAX;
  for (let before = await sample(program); ; ) {
    await new Promise((resolve) => setTimeout(resolve, QUIESCENT_MS));
    const now = await sample(program);
    if (spentBetween(before, now).reconciles === 0) return now;
    if (performance.now() > deadline) throw new Error(`environments are still reconciled after ${QUIESCENT_MS_MAX} ms`);
    before = now;
  }
}

interface Sample {
  readonly atMs: number;
  readonly cpuSeconds: number;
  readonly peakMiB: number;
  readonly residentMiB: number;
  readonly metrics: string;
}

async function sample(program: OperatorProgram): Promise<Sample> {
  const stat = readFileSync(`/proc/${program.pid}/stat`, "utf8").replace(/^.*\) /, "");
  const [user, system] = stat.split(" ").slice(11, 13).map(Number) as [number, number];
  const status = readFileSync(`/proc/${program.pid}/status`, "utf8");
  const mib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / MIB;
  return {
    atMs: performance.now(),
    cpuSeconds: (user + system) / TICKS_PER_SECOND,
    peakMiB: mib("VmHWM"),
    residentMiB: mib("VmRSS"),
    metrics: await program.metrics(),
  };
}

function spentBetween(before: Sample, after: Sample): Spent {
  const difference = (name: string, label: string): Readonly<Record<string, number>> => {
    const [first, last] = [byLabel(before.metrics, name, label), byLabel(after.metrics, name, label)];
    return Object.fromEntries(Object.entries(last).map(([value, sum]) => [value, sum - (first[value] ?? 0)]));
  };
  const reconciles = difference("perdure_operator_reconciles_total", "result");
  return {
    seconds: (after.atMs - before.atMs) / 1000,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    reconciles: Object.values(reconciles).reduce((sum, one) => sum + one, 0),
    requests: difference("perdure_operator_api_requests_total", "verb"),
  };
}

/** Sums of a counter's series by one of its labels. */
function byLabel(metrics: string, name: string, label: string): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const line of metrics.split("\n")) {
    if (!line.startsWith(`${name}{`)) continue;
    const value = new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1] ?? "";
    sums[value] = (sums[value] ?? 0) + Number(line.slice(line.lastIndexOf(" ") + 1));
  }
  return sums;
}
