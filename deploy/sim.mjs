/**
 * `make sim`: many seeded, faulty worlds (`COUNT`, from a first seed drawn by chance), or with SEED one of them with its story. Of
 * four one is of scopes, with rules and rates, and one of a cluster, with leases and links; SCOPES=1 and CLUSTER=1 replay a seed
 * as such. Exit code 1 when a rule was broken; what to replay is printed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle, root } from "./bundle.mjs";

const COUNT_DEFAULT = 200;
const PROGRESS_EVERY_MS = 5000;
/** What kind each of four worlds is, as `simulate` and the command line call it. */
const KINDS = [
  { options: {}, word: "" },
  { options: { flow: true }, word: " SCOPES=1" },
  { options: {}, word: "" },
  { options: { cluster: true }, word: " CLUSTER=1" },
];

const outdir = mkdtempSync(join(root, "node_modules/.perdure-run-"));
process.on("exit", () => rmSync(outdir, { recursive: true, force: true }));
await bundle(join(root, "libs/simulator/src/index.ts"), outdir);
const { simulate } = await import(pathToFileURL(join(outdir, "main.mjs")).href);

function show({ seed, findings }) {
  for (const { rule, detail, atMs } of findings) console.log(`seed ${seed}, ${(atMs / 1000).toFixed(3)} s: ${rule}\n  ${detail}`);
}

async function replay(seed, options) {
  const report = await simulate({ seed, ...options, trace: true });
  console.log(report.trace.join("\n"));
  const { steps, commits, attempts, invocations, fingerprint } = report;
  console.log(
    `\nseed ${seed}: ${invocations} invocations, ${attempts} attempts, ${commits} commits, ${steps} steps, fingerprint ${fingerprint}`,
  );
  show(report);
  return report.findings.length === 0;
}

async function explore(first, count) {
  console.log(`simulating ${count} worlds from seed ${first}`);
  const startedAt = performance.now();
  let toldAt = startedAt;
  const broken = [];
  const sum = { invocations: 0, attempts: 0, commits: 0 };
  for (let i = 0; i < count; i++) {
    const { options, word } = KINDS[i % KINDS.length];
    const report = await simulate({ seed: first + i, ...options });
    for (const name of Object.keys(sum)) sum[name] += report[name];
    if (report.findings.length > 0) {
      broken.push(`${report.seed}${word}`);
      show(report);
    }
    if (performance.now() - toldAt > PROGRESS_EVERY_MS) {
      toldAt = performance.now();
      console.log(`  ${i + 1} of ${count}, ${broken.length} broken`);
    }
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `${count - broken.length} worlds held, ${broken.length} broke in ${seconds} s: ${sum.invocations} invocations, ${sum.attempts} attempts, ${sum.commits} commits`,
  );
  if (broken.length > 0) console.log(`replay with: make sim SEED=${broken[0]}`);
  return broken.length === 0;
}

/** A whole number from the environment; undefined when it is not set. */
function numberFrom(name) {
  const text = process.env[name] ?? "";
  if (text === "") return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  console.error(`${name} must be a whole number, not '${text}'`);
  process.exit(2);
}

const seed = numberFrom("SEED");
const count = numberFrom("COUNT") ?? COUNT_DEFAULT;
const held =
  seed === undefined
    ? await explore(Math.floor(Math.random() * 1e9), count)
    : await replay(seed, { flow: process.env.SCOPES === "1", cluster: process.env.CLUSTER === "1" });
process.exitCode = held ? 0 : 1; // Not `exit`: a pipe would lose the end of a long trace.
