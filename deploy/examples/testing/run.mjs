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
const BUN = "1.4.5";

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

function java() {
  const target = `-Dbuild.folder=${join(cache, "java")}`;
  run("mvn", ["--quiet", "--batch-mode", target, "test"], { cwd: join(here, "java") });
}

function rust() {
  run("cargo", ["test", "--quiet", "--locked"], { cwd: join(here, "rust"), env: { CARGO_TARGET_DIR: join(cache, "rust") } });
}

function node() {
  run(process.execPath, ["--test", "runners/node.test.mjs"], { cwd: testEnvironment });
}

function vitest() {
  const program = join(fetched("vitest", VITEST), "node_modules/vitest/vitest.mjs");
  run(process.execPath, [program, "run", "--root", "runners", "vitest.test.mjs"], { cwd: testEnvironment });
}

function bun() {
  run(join(fetched("bun", BUN), "node_modules/bun/bin/bun.exe"), ["test", "./runners/bun.test.mjs"], { cwd: testEnvironment });
}

/** Returns the folder into which a package of npm was installed. */
function fetched(name, version) {
  const folder = join(cache, `${name}-${version}`);
  if (!existsSync(join(folder, "node_modules", name))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private":true}');
    run("npm", ["install", "--no-audit", "--no-fund", `${name}@${version}`], { cwd: folder });
  }
  return folder;
}

const EXAMPLES = { python, go, java, rust, node, vitest, bun };
const TOOLS = { python: "python3", go: "go", java: "mvn", rust: "cargo" };
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
