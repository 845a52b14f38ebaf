/**
 * Runs the suites of one tier or more: `node deploy/testing/run.mjs <tier>[,<tier>] [pattern…]`. Behind `make test`, `make test-db` and so
 * on.
 *
 * - A program that a tier needs and this machine lacks ends the run with one sentence, before anything starts.
 * - `WORKERS`: parallel suites (4 of those that need only Node, else 2).
 * - In CI (`CI` is set) a suite that fails is run once more, alone. One that passes then is a *flake*: reported with its first failure, and
 * recorded as one (`deploy/testing/second-look.mjs` lists the suites that are not repeated).
 * - `PERDURE_TEST_SUMS`: a file to which one JSON line is appended, to sum up several runs.
 *
 * Exit code 0 when every suite passed (flakes included: the sum over runs decides how many are too many), 1 when one failed, 2 when nothing
 * matched, 3 when a program is missing.
 */
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { suffixesOf, TIERS, tierOf } from "../../libs/testing/testkit/src/tiers.ts";
import { hasSecondLook, SECOND_LOOKS_MAX } from "./second-look.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const isCi = process.env.CI !== undefined;

// ── suites ───────────────────────────────────────────────────────────────────────────────────────

const NOT_OURS = new Set(["node_modules", "dist", "gen", "testdata"]);

function suitesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : suitesBelow(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

function isOnPath(name) {
  if (name.startsWith("/")) return existsSync(name);
  return (process.env.PATH ?? "").split(delimiter).some((directory) => directory !== "" && existsSync(join(directory, name)));
}

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "perdure");
const cached = existsSync(cache) ? readdirSync(cache) : [];

function isThere({ programs, cached: name, isInDebian, inLockFileOn }) {
  return (
    programs.some(isOnPath) ||
    inLockFileOn === `${process.platform}-${process.arch}` ||
    (name !== undefined && cached.some((folder) => folder.startsWith(name))) ||
    (isInDebian === true && isOnPath("apt-get") && isOnPath("dpkg-deb"))
  );
}

/** Resolves with the exit code; a signal counts as 1. */
function run(command, args, env = {}) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
  return new Promise((done, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => done(code ?? 1));
  });
}

// ── one run of Jest ──────────────────────────────────────────────────────────────────────────────

/** Resolves with the results of the suites; undefined when Jest itself failed or was interrupted. */
async function runSuites(suites, workers) {
  const folder = mkdtempSync(join(tmpdir(), "perdure-results-"));
  const file = join(folder, "results.json");
  try {
    const jest = ["--no-warnings", "node_modules/jest/bin/jest.js"];
    const options = [
      `--maxWorkers=${workers}`,
      `--reporters=${join(root, "deploy/testing/reporter.mjs")}`,
      "--testPathIgnorePatterns=/node_modules/", // The configuration leaves out suites of images; here every suite is named.
      "--runTestsByPath",
    ];
    await run(process.execPath, [...jest, ...options, ...suites.map((path) => relative(root, path))], {
      PERDURE_TEST_RESULTS: file,
    });
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// ── what suites share ────────────────────────────────────────────────────────────────────────────

const USES_POSTGRES = new Set(["postgres", "cluster", "browser", "k8s"]);
const USES_KUBERNETES = new Set(["k8s"]);
const USES_BROWSER = new Set(["browser"]);

/** Starts a program of `libs/testing/servers` that prints one line about what suites share. Resolves with the line, and with what stops it. */
async function startShared(program, ...args) {
  const server = spawn(process.execPath, ["deploy/run-ts.mjs", `libs/testing/servers/src/${program}`, ...args], {
    cwd: root,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = new Promise((done) => server.once("exit", done));
  const line = await new Promise((done, reject) => {
    createInterface({ input: server.stdout }).once("line", done);
    exited.then((code) => reject(new Error(`${program} ended with exit code ${code}`)));
  });
  const stop = async () => {
    server.stdin.end();
    await exited;
  };
  return { line, stop };
}

/**
 * One PostgreSQL server (`libs/testing/servers/src/database.ts`) and, for each worker, one Kubernetes control plane (`kubernetes-lease.ts`) and one
 * browser (`browser.ts`), when more than one suite may use it. Resolves with what stops them.
 */
async function startWhatSuitesShare(suites, workers) {
  const started = [];
  const useOneOf = (wanted) => suites.filter((path) => suffixesOf(path).some((suffix) => wanted.has(suffix))).length > 1;
  if (useOneOf(USES_POSTGRES)) {
    const postgres = await startShared("shared-postgres.ts");
    process.env.SHARED_POSTGRES_URL = postgres.line;
    started.push(postgres);
  }
  if (useOneOf(USES_KUBERNETES)) {
    const kubernetes = await startShared("shared-kubernetes.ts", String(workers));
    process.env.SHARED_KUBERNETES = kubernetes.line;
    started.push(kubernetes);
  }
  if (useOneOf(USES_BROWSER)) {
    const browsers = await startShared("shared-browsers.ts", String(workers));
    process.env.SHARED_BROWSERS = browsers.line;
    started.push(browsers);
  }
  return () => Promise.all(started.map(({ stop }) => stop()));
}

const failedOf = (results) => results.suites.filter(({ failure }) => failure !== undefined);

/** Runs what failed once more. Resolves with the flakes, and with the suites that failed again. */
async function runAgain(failed) {
  const names = failed.map(({ name }) => name);
  if (!isCi || failed.length > SECOND_LOOKS_MAX || !names.every(hasSecondLook)) return { flakes: [], broken: failed };
  console.log(`\nOnce more, one by one: ${names.join(" ")}`);
  const second = await runSuites(
    names.map((name) => join(root, name)),
    1,
  );
  const passed = new Set((second?.suites ?? []).filter(({ failure }) => failure === undefined).map(({ name }) => name));
  return { flakes: failed.filter(({ name }) => passed.has(name)), broken: failed.filter(({ name }) => !passed.has(name)) };
}

// ── the command ──────────────────────────────────────────────────────────────────────────────────

const [wanted = "", ...patterns] = process.argv.slice(2);
const tiers = wanted.split(",").map((name) => {
  const tier = TIERS.find((one) => one.name === name);
  if (tier === undefined) throw new Error(`no tier is called '${name}': ${TIERS.map((one) => one.name).join(", ")}`);
  return tier;
});

const missing = new Set(tiers.flatMap(({ needs }) => needs.filter((need) => !isThere(need)).map((need) => need.missing)));
if (missing.size > 0) {
  for (const sentence of missing) console.error(sentence);
  process.exit(3);
}

const FOLDERS = [
  "libs",
  "services",
  "deploy/examples",
  "deploy/cloud",
  "deploy/cluster",
  "deploy/packages",
  "deploy/reference",
  "deploy/release",
  "deploy/scale",
];
const all = FOLDERS.flatMap((folder) => suitesBelow(join(root, folder)));
const expressions = patterns.map((pattern) => new RegExp(pattern, "i"));
const matching = all.filter((path) => expressions.length === 0 || expressions.some((one) => one.test(path)));
const suites = matching.filter((path) => tiers.includes(tierOf(path)));
const others = new Set(matching.map(tierOf).filter((tier) => !tiers.includes(tier)));
if (patterns.length > 0 && others.size > 0) {
  const targets = [...others].map(({ target }) => `make ${target}`);
  console.log(`Suites of other tiers match too: ${targets.join(", ")}.`);
}
if (suites.length === 0) {
  console.error(`No suite of ${tiers.map(({ target }) => `make ${target}`).join(", ")} matches ${patterns.join(" ")}.`);
  process.exit(2);
}

const NOTHING_TO_COMPILE = new Set(["check", "node", "db", "packages"]);
if (tiers.some(({ name }) => !NOTHING_TO_COMPILE.has(name))) {
  const code = await run(process.execPath, [
    "deploy/run-ts.mjs",
    "libs/testing/servers/src/prepare.ts",
    ...tiers.map(({ name }) => name),
  ]);
  if (code !== 0) process.exit(3);
}

const startedAt = performance.now();
// Suites of Node wait for processes of their own now and then: three of them leave a sixth of two processors idle. Other suites share
// servers.
const workers = Number(process.env.WORKERS || (wanted === "node" ? 4 : 2));
const stopShared = await startWhatSuitesShare(suites, workers);
const results = await runSuites(suites, workers);
const failures = results === undefined ? [] : failedOf(results);
const { flakes, broken } = failures.length > 0 ? await runAgain(failures) : { flakes: [], broken: [] };
await stopShared();
if (results === undefined) process.exit(1);
const sum = (of, field) => of.reduce((total, suite) => total + suite[field], 0);
// A suite that did not run (an interrupted worker) is a failure, too.
const unseen = suites.length - results.suites.length;
const failed = sum(broken, "failed") + unseen;
const passed = sum(results.suites, "passed") + sum(flakes, "failed");
if (unseen > 0) console.log(`${unseen} suites did not run.`);
if (flakes.length > 0) console.log(`\nFlakes: ${flakes.map(({ name }) => name).join(" ")}`);
if (process.env.PERDURE_TEST_SUMS !== undefined) {
  const line = { tiers: wanted, passed, failed, flakes, broken: broken.map(({ name }) => name) };
  appendFileSync(
    process.env.PERDURE_TEST_SUMS,
    `${JSON.stringify({ ...line, ms: Math.round(performance.now() - startedAt) })}\n`,
  );
}
process.exit(failed > 0 ? 1 : 0);
