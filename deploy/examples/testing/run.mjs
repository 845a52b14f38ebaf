/**
 * Runs the examples of tests in other languages, and `@perdure/testing` in runners other than Jest: part of `make test-sdks`. What each
 * needs is fetched once into the cache. Arguments are names: `node deploy/examples/testing/run.mjs python vitest`. Exit code 1 when one failed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../..");
const cache = join(homedir(), ".cache/perdure/testing-examples");
const testEnvironment = join(root, "services/test-environment");
const VITEST = "5.1.1";

/** Throws with the end of the output when the program fails. */
function run(command, args, { cwd = here, env = {} } = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, PERDURE: join(root, "perdure"), ...env },
    encoding: "utf8",
    timeout: 600_000,
  });
  if (status !== 0)
    throw new Error(`${command} ${args.join(" ")}: ${error?.message ?? status}\n${`${stdout}${stderr}`.slice(-4000)}`);
}

function python() {
  const venv = join(cache, "python");
  const program = join(venv, "bin/python");
  if (!existsSync(program)) run("python3", ["-m", "venv", venv]);
  run(program, ["-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"], { cwd: join(here, "python") });
  const env = { PYTHONDONTWRITEBYTECODE: "1" };
  run(program, ["-m", "pytest", "-q", "-p", "no:cacheprovider"], { cwd: join(here, "python"), env });
}

function go() {
  run("go", ["test", "-count=1", "./..."], { cwd: join(here, "go") });
}

function node() {
  run(process.execPath, ["--test", "runners/node.test.mjs"], { cwd: testEnvironment });
}

function vitest() {
  const folder = join(cache, `vitest-${VITEST}`);
  const program = join(folder, "node_modules/vitest/vitest.mjs");
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private":true}');
    run("npm", ["install", "--no-audit", "--no-fund", `vitest@${VITEST}`], { cwd: folder });
  }
  run(process.execPath, [program, "run", "--root", "runners", "vitest.test.mjs"], { cwd: testEnvironment });
}

const EXAMPLES = { python, go, node, vitest };
const TOOLS = { python: "python3", go: "go" };
const requested = process.argv.slice(2).filter((name) => name in EXAMPLES);
let failures = 0;
for (const [name, example] of Object.entries(EXAMPLES)) {
  if (requested.length > 0 && !requested.includes(name)) continue;
  const tool = TOOLS[name];
  if (tool !== undefined && spawnSync(tool, ["--help"]).error !== undefined) {
    console.log(`- ${name}: not run, because there is no ${tool} on this machine`);
    continue;
  }
  const beganMs = performance.now();
  try {
    example();
    console.log(`✓ ${name} (${((performance.now() - beganMs) / 1000).toFixed(1)} s)`);
  } catch (cause) {
    failures++;
    console.log(`✗ ${name}: ${cause.message}`);
  }
}
process.exitCode = failures > 0 ? 1 : 0;
