/**
 * `make sim-scale`: one simulated cluster of PARTITIONS and WORKERS in which FAILURES workers fail one after the other while CALLERS call;
 * prints how long partitions were without a leader and when the cluster was balanced again, in virtual time. Exit code 1 when a rule was broken.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle, root } from "./bundle.mjs";

/** The shape that `docs/operating/scale.md` reports. */
const DEFAULTS = { SEED: 1, PARTITIONS: 1000, WORKERS: 100, FAILURES: 24, CALLERS: 300 };

/** A whole number from the environment, or the default. */
function numberFrom(name) {
  const text = process.env[name] ?? "";
  if (text === "") return DEFAULTS[name];
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  console.error(`${name} must be a whole number of at least 1, not '${text}'`);
  process.exit(2);
}

const outdir = mkdtempSync(join(root, "node_modules/.perdure-run-"));
process.on("exit", () => rmSync(outdir, { recursive: true, force: true }));
const bundled = { options: { keepNames: false, sourcemap: false } };
await bundle(join(root, "libs/testing/simulator/src/index.ts"), outdir, bundled);
const { simulateScale } = await import(pathToFileURL(join(outdir, "main.mjs")).href);

const options = {
  seed: numberFrom("SEED"),
  partitions: numberFrom("PARTITIONS"),
  workers: numberFrom("WORKERS"),
  failures: numberFrom("FAILURES"),
  callers: numberFrom("CALLERS"),
};
const { seed, partitions, workers, failures, callers } = options;
console.log(`seed ${seed}: ${partitions} partitions, ${workers} workers, ${failures} failures, ${callers} callers`);
const cpu = process.cpuUsage();
const report = await simulateScale(options);
const { user, system } = process.cpuUsage(cpu);

const { startMs, rebalanceGapMs } = report;
console.log(
  `start: every partition has a leader after ${startMs.allHaveLeaders} ms, every worker its share after ${startMs.balanced} ms`,
);
console.log(
  "\n| Failure | Workers | Partitions | Without a leader, ms: median, p99, most | Balanced again, ms: median, most |\n|---|---|---|---|---|",
);
for (const { kind, count, gapMs, balancedMs } of report.failures)
  console.log(
    `| ${kind} | ${count} | ${gapMs.count} | ${gapMs.median}, ${gapMs.p99}, ${gapMs.max} | ${balancedMs.median}, ${balancedMs.max} |`,
  );
const { count, median, p99, max } = rebalanceGapMs;
console.log(`| move back | | ${count} | ${median}, ${p99}, ${max} | |`);
console.log(
  `\n${report.invocations} invocations, ${report.commits} commits, ${report.steps} steps in ${(report.virtualMs / 1000).toFixed(0)} s of virtual time, ` +
    `${((user + system) / 1e6).toFixed(1)} s of processor time`,
);
for (const { rule, detail, atMs } of report.findings) console.log(`${(atMs / 1000).toFixed(3)} s: ${rule}\n  ${detail}`);
process.exitCode = report.findings.length === 0 ? 0 : 1;
