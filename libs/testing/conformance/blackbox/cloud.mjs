/**
 * `node libs/testing/conformance/blackbox/cloud.mjs <folder of the black-box suite>`: the suite against an environment of the whole platform, as a
 * tenant's laptop sees it: remote ports of `perdure tunnel`, gateway, runtime. What the suite says goes to stdout; its exit code is ours.
 *
 * The suite kills what it runs against and starts it again: `--serve <directory>` is that program, all of the platform in one process
 * group. Runtimes have groups of their own; the next tenancy adopts them.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChildProgram } from "@perdure/processes/child-program";
import { createEnvironment, runtimePids, someone, startCloud } from "../bench/cloud-world.mjs";
import { root } from "../bench/harness/processes.ts";

const FIRST_PORT = 23_000;
const [INGRESS, ADMIN] = [FIRST_PORT + 390, FIRST_PORT + 391];
const RUNTIME_CONFIG = '[worker]\ncleanup-interval = "1s"\n';

const factsOf = (directory) => join(directory, "environment.json");

const [first, second] = process.argv.slice(2);
if (first === undefined) throw new Error("say where the suite lies");
if (first === "--serve") await serve(second);
else process.exitCode = await run(first);

/** Makes the environment, whose public key the suite wants to know beforehand, then lets the suite start everything again. */
async function run(suite) {
  const directory = mkdtempSync(join(tmpdir(), "perdure-blackbox-"));
  try {
    const { signingPublicKey } = await prepare(directory);
    const serving = `exec '${process.execPath}' '${import.meta.filename}' --serve '${directory}'`;
    const doors = ["--ingress", `http://127.0.0.1:${INGRESS}`, "--admin", `http://127.0.0.1:${ADMIN}`];
    const args = ["run.mjs", ...doors, "--identity-public-key", signingPublicKey, "--server-cmd", serving];
    const child = spawn(process.execPath, args, { cwd: suite, stdio: "inherit" });
    return await new Promise((done) => child.once("exit", (code) => done(code ?? 1)));
  } finally {
    for (const pid of runtimePids(directory)) process.kill(pid, "SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  }
}

async function prepare(directory) {
  await using cloud = await startCloud(FIRST_PORT, { runtimeConfig: RUNTIME_CONFIG, directory });
  const environment = await createEnvironment(await someone(cloud, "blackbox@example.com", "team"), "blackbox");
  writeFileSync(factsOf(directory), JSON.stringify(environment));
  return environment;
}

/** Runs until it is stopped or killed. */
async function serve(directory) {
  const stopped = new Promise((done) => process.once("SIGTERM", done).once("SIGINT", done));
  if (!existsSync(factsOf(directory))) throw new Error(`nothing is prepared in ${directory}`);
  const environment = JSON.parse(readFileSync(factsOf(directory), "utf8"));
  await using cloud = await startCloud(FIRST_PORT, { runtimeConfig: RUNTIME_CONFIG, directory });
  const args = ["tunnel", "--no-local", "--remote-port", `8080:${INGRESS}`, "--remote-port", `9070:${ADMIN}`];
  const tunnel = await ChildProgram.start({
    command: join(root, "perdure"),
    args,
    cwd: directory,
    group: "shared", // The suite kills all of it with its process group.
    env: {
      ...process.env,
      HOME: directory,
      PERDURE_API_URL: cloud.apiUrl,
      PERDURE_API_KEY: environment.apiKey,
      PERDURE_ENVIRONMENT_ID: environment.environmentId,
      PERDURE_SIGNING_PUBLIC_KEY: environment.signingPublicKey,
      PERDURE_INGRESS_URL: environment.ingressBaseUrl,
      PERDURE_ADMIN_URL: environment.adminBaseUrl,
    },
  });
  await Promise.race([stopped, tunnel.exited]);
  await tunnel.stop();
}
