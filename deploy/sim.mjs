/**
 * `make sim`: runs many seeded worlds with faults (`COUNT` of them, from a random first seed or `FROM`), or with SEED one of them with its
 * trace. Of ten, one is of scopes, with rules and rates, one of a cluster, with leases and links, one of a crowd, with full pages and late
 * messages, one of a process with several threads; one has debounced requests, one throttled ones, in one changes are undone, in one state
 * expires, and in one handlers and clients attach to invocations of others. SCOPES=1, CLUSTER=1, CROWD=1, DEBOUNCE=1, THROTTLE=1, UNDO=1 and
 * STATE_TTL=1 (the last four also with CLUSTER=1), THREADS=1 (also with SCOPES=1, UNDO=1 or STATE_TTL=1) and ATTACH=1 (also with CLUSTER=1,
 * UNDO=1, both of them, SCOPES=1 or THREADS=1) replay a seed as such, or make all worlds such. Exit code 1 when a rule was broken; the seed to
 * replay is printed.
 *
 * PLANT=name plants a bug (`testing/planted-bugs.mjs`) and searches the worlds from 1 to COUNT for it; PLANT=all does so for every bug.
 * SHORT=1 tries the recorded world first. Exit code 1 when a bug was not found. With SEED, runs that world with the bug.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle, root } from "./bundle.mjs";
import { PLANTED_BUGS, planting } from "./testing/planted-bugs.mjs";

const COUNT_DEFAULT = 200;
/** Worlds in which a planted bug must be found. */
const PLANT_COUNT_DEFAULT = 2_000;
const PROGRESS_EVERY_MS = 5000;
/** Kinds of worlds, in a cycle of eight, with their options for `simulate` and the command line. */
const PLAIN = { options: {}, word: "" };
const SCOPES = { options: { flow: true }, word: " SCOPES=1" };
const CLUSTER = { options: { cluster: true }, word: " CLUSTER=1" };
const CROWD = { options: { crowd: true }, word: " CROWD=1" };
const DEBOUNCE = { options: { debounce: true }, word: " DEBOUNCE=1" };
const UNDO = { options: { undo: true }, word: " UNDO=1" };
const UNDO_CLUSTER = { options: { undo: true, cluster: true }, word: " UNDO=1 CLUSTER=1" };
const DEBOUNCED_CLUSTER = { options: { debounce: true, cluster: true }, word: " DEBOUNCE=1 CLUSTER=1" };
const STATE_TTL = { options: { stateTtl: true }, word: " STATE_TTL=1" };
const STATE_TTL_CLUSTER = { options: { stateTtl: true, cluster: true }, word: " STATE_TTL=1 CLUSTER=1" };
const THROTTLE = { options: { throttle: true }, word: " THROTTLE=1" };
const THROTTLED_CLUSTER = { options: { throttle: true, cluster: true }, word: " THROTTLE=1 CLUSTER=1" };
const ATTACH = { options: { attach: true }, word: " ATTACH=1" };
const UNDO_ATTACH = { options: { attach: true, undo: true }, word: " ATTACH=1 UNDO=1" };
const ATTACH_WITH_OTHERS = [
  { options: { attach: true, undo: true, cluster: true }, word: " ATTACH=1 UNDO=1 CLUSTER=1" },
  UNDO_ATTACH,
  { options: { attach: true, cluster: true }, word: " ATTACH=1 CLUSTER=1" },
  { options: { attach: true, flow: true }, word: " ATTACH=1 SCOPES=1" },
  { options: { attach: true, threads: true }, word: " ATTACH=1 THREADS=1" },
];
const THREADS = { options: { threads: true }, word: " THREADS=1" };
const SCOPED_THREADS = { options: { threads: true, flow: true }, word: " THREADS=1 SCOPES=1" };
const UNDO_THREADS = { options: { threads: true, undo: true }, word: " THREADS=1 UNDO=1" };
const STATE_TTL_THREADS = { options: { threads: true, stateTtl: true }, word: " THREADS=1 STATE_TTL=1" };
const KINDS = [PLAIN, SCOPES, CROWD, CLUSTER, PLAIN, SCOPES, PLAIN, CLUSTER];
/** Worlds of threads, with debounced or throttled requests, undo or attachments are searched for a planted bug only when the bug names them. */
const EXPLORED = [PLAIN, SCOPES, CROWD, CLUSTER, UNDO, STATE_TTL, DEBOUNCE, THROTTLE, THREADS, ATTACH];
/** The kind that the environment names; undefined: all of them in turn. */
const KIND = [
  ...ATTACH_WITH_OTHERS,
  ATTACH,
  SCOPED_THREADS,
  UNDO_THREADS,
  STATE_TTL_THREADS,
  THREADS,
  THROTTLED_CLUSTER,
  THROTTLE,
  STATE_TTL_CLUSTER,
  STATE_TTL,
  UNDO_CLUSTER,
  UNDO,
  DEBOUNCED_CLUSTER,
  DEBOUNCE,
  SCOPES,
  CLUSTER,
  CROWD,
].find(({ word }) =>
  word
    .trim()
    .split(" ")
    .every((one) => process.env[one.slice(0, -2)] === "1"),
);

const outdir = mkdtempSync(join(root, "node_modules/.perdure-run-"));
process.on("exit", () => rmSync(outdir, { recursive: true, force: true }));

/** The simulator over the tree as it is, or with a bug in it. Names of functions are not kept: they cost a tenth of the time. */
async function simulator(bug) {
  const directory = join(outdir, bug?.name ?? "as-it-is");
  const plugins = bug === undefined ? [] : [await planting(bug, root)];
  await bundle(join(root, "libs/testing/simulator/src/index.ts"), directory, {
    plugins,
    options: { keepNames: false, sourcemap: false },
  });
  const { simulate } = await import(pathToFileURL(join(directory, "main.mjs")).href);
  return simulate;
}

function show({ seed, findings }) {
  for (const { rule, detail, atMs } of findings) console.log(`seed ${seed}, ${(atMs / 1000).toFixed(3)} s: ${rule}\n  ${detail}`);
}

async function replay(simulate, seed, options) {
  const report = await simulate({ seed, ...options, trace: true });
  console.log(report.trace.join("\n"));
  const { steps, commits, attempts, invocations, fingerprint } = report;
  console.log(
    `\nseed ${seed}: ${invocations} invocations, ${attempts} attempts, ${commits} commits, ${steps} steps, fingerprint ${fingerprint}`,
  );
  show(report);
  return report.findings.length === 0;
}

function cpuSeconds(since = { user: 0, system: 0 }) {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}

async function explore(simulate, first, count) {
  console.log(`simulating ${count} worlds${KIND?.word ?? ""} from seed ${first}`);
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  let toldAt = startedAt;
  const broken = [];
  const sum = { invocations: 0, attempts: 0, commits: 0 };
  for (let i = 0; i < count; i++) {
    const { options, word } = KIND ?? EXPLORED[i % EXPLORED.length];
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
  const processorSeconds = cpuSeconds(cpu);
  console.log(
    `${count - broken.length} worlds held, ${broken.length} broke in ${seconds} s: ${sum.invocations} invocations, ${sum.attempts} attempts, ` +
      `${sum.commits} commits; ${(count / processorSeconds).toFixed(1)} worlds per second of processor time`,
  );
  if (broken.length > 0) console.log(`replay with: make sim SEED=${broken[0]}`);
  return broken.length === 0;
}

// ── planted bugs ─────────────────────────────────────────────────────────────────────────────────

/** The kind of worlds that the bug names; undefined: all of `KINDS`. */
function kindOf(bug) {
  if (bug.isAttached) return bug.isUndone ? UNDO_ATTACH : ATTACH;
  if (bug.isDebounced) return DEBOUNCE;
  if (bug.isThrottled) return THROTTLE;
  if (bug.isUndone) return UNDO;
  return bug.isThreaded ? THREADS : undefined;
}

/** Searches the worlds for one bug; prints a row of the table. */
async function findPlanted(bug, count, isShort) {
  const simulate = await simulator(bug);
  const cpu = process.cpuUsage();
  const worlds = Array.from({ length: count }, (_, n) => n + 1);
  if (isShort) worlds.unshift(bug.world);
  for (const [tried, world] of worlds.entries()) {
    const { options, word } = kindOf(bug) ?? KINDS[(world - 1) % KINDS.length];
    const { findings } = await simulate({ seed: world, ...options });
    if (findings.length === 0) continue;
    const seconds = cpuSeconds(cpu).toFixed(1);
    console.log(`| \`${bug.name}\` | ${bug.what} | ${world}${word} | ${findings[0].rule} | ${tried + 1} | ${seconds} |`);
    return true;
  }
  console.log(`| \`${bug.name}\` | ${bug.what} | not found in ${count} | | | ${cpuSeconds(cpu).toFixed(1)} |`);
  return false;
}

async function findAllPlanted(bugs, count, isShort) {
  console.log("| Bug | What | Found by world | Broken rule | Worlds tried | Processor s |\n|---|---|---|---|---|---|");
  let found = 0;
  for (const bug of bugs) if (await findPlanted(bug, count, isShort)) found++;
  console.log(`${found} of ${bugs.length} planted bugs were found; ${cpuSeconds().toFixed(0)} s of processor time`);
  return found === bugs.length;
}

/** The bugs that PLANT names. */
function bugsOf(name) {
  if (name === "all") return PLANTED_BUGS;
  const bug = PLANTED_BUGS.find((each) => each.name === name);
  if (bug !== undefined) return [bug];
  console.error(`PLANT must be 'all' or one of ${PLANTED_BUGS.map((each) => each.name).join(", ")}`);
  process.exit(2);
}

/** A whole number from the environment; undefined when it is not set. */
function numberFrom(name) {
  const text = process.env[name] ?? "";
  if (text === "") return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  console.error(`${name} must be a whole number, not '${text}'`);
  process.exit(2);
}

const { PLANT: plant = "", SHORT: short } = process.env;
const seed = numberFrom("SEED");
const count = numberFrom("COUNT");
const bugs = plant === "" ? [] : bugsOf(plant);

async function run() {
  if (seed !== undefined) return replay(await simulator(bugs[0]), seed, (KIND ?? PLAIN).options);
  if (bugs.length > 0) return findAllPlanted(bugs, count ?? PLANT_COUNT_DEFAULT, short === "1");
  return explore(await simulator(), numberFrom("FROM") ?? Math.floor(Math.random() * 1e9), count ?? COUNT_DEFAULT);
}

process.exitCode = (await run()) ? 0 : 1; // Not `exit`: a pipe would lose the end of a long trace.
