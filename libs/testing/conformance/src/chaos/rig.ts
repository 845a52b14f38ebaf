/** Plays faults on a cluster under load, one after the other or at random, and reports the interruption by each. */
import { setTimeout as delay } from "node:timers/promises";
import type { Fault, FaultFindings } from "./faults.js";
import { standstills, untilProgress } from "./progress.js";
import { ChaosStage, type StageOptions } from "./stage.js";

export interface FaultReport {
  readonly fault: string;
  readonly whom: string;
  /**
   * From the fault, or from its end when no partition can work during it, to the first progress: one for each affected partition,
   * ascending.
   */
  readonly pausesMs: readonly number[];
  /** Time from the fault until others held all leases; undefined when no worker had to take over. */
  readonly takeoverMs: number | undefined;
  /** The longest time without any answer to any caller, from the fault to full recovery. */
  readonly quietMs: number;
  readonly findings: FaultFindings;
}

export interface ChaosReport {
  readonly seed: number;
  readonly faults: readonly FaultReport[];
  readonly violations: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

export interface ChaosOptions extends StageOptions {
  /** The next fault; undefined ends the run. */
  readonly next: (stage: ChaosStage, played: number) => Fault | undefined | Promise<Fault | undefined>;
  readonly briefly: boolean;
  /** Pause between two faults; the longest random one, so that some come while the cluster still recovers. */
  readonly pauseMs: number;
  /** Waits after each fault until partitions are shared evenly again, so that faults are measured one by one. */
  readonly oneByOne: boolean;
  readonly print: (line: string) => void;
}

/** Rejects when a fault was not survived; lost and repeated work is among the violations. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { print } = options;
  await using stage = await ChaosStage.start(options);
  const { load, record } = stage;
  load.start();
  await untilProgress(record, stage.partitions.length, stage.partitions, { sinceMs: performance.now() });
  const faults: FaultReport[] = [];
  for (;;) {
    const fault = await options.next(stage, faults.length);
    if (fault === undefined) break;
    const report = await play(stage, fault, options);
    faults.push(report);
    print(lineOf(report, stage));
    if (options.oneByOne) await stage.untilBalanced();
    await delay(options.oneByOne ? options.pauseMs : stage.random.below(options.pauseMs));
    if (load.violations.length + record.violations.length > 0) break;
  }
  print("letting everything come to its end");
  await load.stop();
  await stage.untilBalanced();
  await load.check();
  await stage.untilQuiet().catch((cause: unknown) => load.violated(String(cause)));
  const counts = { ...load.counts, executions: record.executionCount, replays: record.replayCount };
  const violations = [...load.violations];
  if (violations.length > 0) for (const line of [...lastLines(stage), ...(await leftUnfinished(stage))]) print(line);
  return { seed: options.seed, faults, violations, counts };
}

async function play(stage: ChaosStage, fault: Fault, { briefly }: ChaosOptions): Promise<FaultReport> {
  const { load, record } = stage;
  const timer = setInterval(() => load.excuse(), 1_000);
  load.excuse();
  load.quiet.longestMs = 0;
  try {
    const stoodStill = standstills(record, stage.partitions.length, stage.partitions);
    const struck = await fault.strike(stage, briefly);
    const { leaver, partitions, sinceMs } = struck;
    const takeover =
      leaver === undefined ? undefined : stage.untilReassigned(leaver, partitions).then(() => performance.now() - sinceMs);
    const progress = await untilProgress(record, stage.partitions.length, struck.partitions, struck).catch((cause: unknown) => {
      throw new Error(`${fault.name} (${struck.whom}): ${String(cause)}\n${lastLines(stage).join("\n")}`, { cause });
    });
    const takeoverMs = await takeover;
    await struck.heal();
    const standstillsMs = stoodStill();
    const pausesMs = struck.inPeace === true ? standstillsMs : progress;
    const quietMs = Math.max(load.quiet.longestMs, performance.now() - load.quiet.lastMs);
    return { fault: fault.name, whom: struck.whom, pausesMs, takeoverMs, quietMs, findings: struck.findings?.() ?? {} };
  } finally {
    clearInterval(timer);
  }
}

function lineOf({ fault, whom, pausesMs, takeoverMs, quietMs, findings }: FaultReport, { load, record }: ChaosStage): string {
  const felt =
    pausesMs.length === 0
      ? "no partition affected"
      : `first ${ms(pausesMs[0])}, all ${pausesMs.length} after ${ms(pausesMs.at(-1))}`;
  const { answers, retries } = load.counts;
  const findingsText = Object.entries(findings)
    .map(([what, n]) => `; ${n} ${what}`)
    .join("");
  const so = `${answers} answers, ${retries} retries, ${record.replayCount} replayed steps`;
  return `${fault} (${whom}): ${takeoverMs === undefined ? "" : `taken over after ${ms(takeoverMs)}, `}${felt}; no answer for ${ms(quietMs)}${findingsText} — ${so}`;
}

/** SQL rows of some invocations that did not end: themselves, their journals, and their callees. */
async function leftUnfinished({ admin, record }: ChaosStage): Promise<string[]> {
  const of = "SELECT * FROM sys_invocation WHERE status != 'completed' LIMIT 4";
  const rows = await admin.query(of).catch(() => []);
  const lines: string[] = [];
  for (const row of rows) {
    const id = String(row["id"]);
    const journal = await admin.query(`SELECT * FROM sys_journal WHERE id = '${id}'`).catch(() => []);
    const invoked = await admin.query(`SELECT * FROM sys_invocation WHERE invoked_by_id = '${id}'`).catch(() => []);
    lines.push(`unfinished: ${JSON.stringify(row)}`);
    for (const entry of journal) lines.push(`  journal: ${JSON.stringify(entry)}`);
    for (const other of invoked) lines.push(`  invoked: ${JSON.stringify(other)}`);
  }
  lines.push(`steps seen: ${record.executionCount} executed, ${record.replayCount} remembered`);
  return lines;
}

function lastLines({ workers, gateways }: ChaosStage): string[] {
  return [
    ...workers.flatMap(({ name, program }) => program.lines.slice(-25).map((line) => `${name}: ${line}`)),
    ...gateways.flatMap((program, index) => program.lines.slice(-5).map((line) => `gateway ${index + 1}: ${line}`)),
  ];
}

function ms(value: number | undefined): string {
  return value === undefined ? "–" : `${Math.round(value)} ms`;
}
