/** The process that manages runtimes may be killed; runtimes continue, and the next provisioner manages them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { type Provisioner, RUNTIME_SECRET_HEADER, type Upstream } from "@perdure/cloud";
import { aDesiredRuntime, untilState } from "@perdure/cloud/testing";
import { freePortRange } from "@perdure/servers";
import { EnvironmentFiles } from "../src/files.js";
import { openProcessProvisioner } from "../src/index.js";
import { identityOf } from "../src/process-identity.js";
import type { SupervisorTask } from "./supervisor.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const TEST_MS = 90_000;

let directory: string;
let ports: SupervisorTask["options"]["ports"];
let opened: Provisioner[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "perdure-adoption-"));
  ports = await freePortRange(40);
  opened = [];
});
afterEach(async () => {
  for (const provisioner of opened) await provisioner[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

function optionsHere(): SupervisorTask["options"] {
  return { directory, program: at("../testdata/server.mjs"), ports, egress: "guarded" };
}

function open(): Provisioner {
  const provisioner = openProcessProvisioner({ clock: systemClock, random: systemRandom, logger: silentLogger }, optionsHere());
  opened.push(provisioner);
  return provisioner;
}

async function pidAt({ admin, secret }: Upstream): Promise<number> {
  const headers = { [RUNTIME_SECRET_HEADER]: secret?.reveal() ?? "" };
  return Number(await (await fetch(`${admin}/`, { headers })).text());
}

/** Applies the request in another process, which is killed when its runtime is ready. */
async function applyAndDie(desired: ReturnType<typeof aDesiredRuntime>): Promise<void> {
  const task: SupervisorTask = { options: optionsHere(), desired, signingKeyPem: desired.signingKeyPem.reveal() };
  const runner = spawn(process.execPath, [at("../../../../deploy/run-ts.mjs"), at("supervisor.ts"), JSON.stringify(task)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(runner, "exit");
  for await (const line of createInterface(runner.stdout)) {
    const pid = /^ready (\d+)$/.exec(line)?.[1];
    if (pid !== undefined) process.kill(Number(pid), "SIGKILL");
  }
  await ended;
}

test(
  "a runtime outlives a killed provisioner, and the next one continues with the same process",
  async () => {
    const desired = aDesiredRuntime();
    await applyAndDie(desired);
    const files = new EnvironmentFiles(directory, desired.environmentId);
    const pid = files.process?.pid ?? 0;
    expect(identityOf(pid)).toBe(files.process?.identity);

    const provisioner = open();
    expect(provisioner.state(desired.environmentId)).toEqual({ phase: "starting", generation: 1 });
    const { upstream } = await untilState(provisioner, desired, "ready");
    expect(await pidAt(upstream)).toBe(pid);
    await provisioner.apply({ ...desired, generation: 2 });
    expect(await pidAt((await untilState(provisioner, { ...desired, generation: 2 }, "ready")).upstream)).toBe(pid);

    const noticed = new Promise<void>((resolve) =>
      provisioner.onChange((_id, state) => state?.phase === "starting" && resolve()),
    );
    process.kill(pid, "SIGKILL");
    await noticed;
    const again = await untilState(provisioner, desired, "ready");
    expect(again.upstream).toEqual(upstream);
    expect(await pidAt(again.upstream)).not.toBe(pid);
    expect(readFileSync(join(files.data, "starts"), "utf8")).toBe("running\nrunning\n");
  },
  TEST_MS,
);

test(
  "one that was left with other settings is replaced, and another process with its id is left alone",
  async () => {
    const desired = aDesiredRuntime();
    await applyAndDie(desired);
    const files = new EnvironmentFiles(directory, desired.environmentId);
    const left = files.process?.pid ?? 0;
    const provisioner = open();
    const newer = { ...desired, generation: 2, mode: "suspended" as const };
    await provisioner.apply(newer);
    await untilState(provisioner, newer, "ready");
    expect(identityOf(left)).toBeUndefined();
    await provisioner[Symbol.asyncDispose]();

    const otherProcess = { pid: process.pid, identity: "began at another time", fingerprint: files.launch?.fingerprint };
    writeFileSync(join(files.folder, "process.json"), JSON.stringify(otherProcess));
    const next = open();
    expect(next.state(desired.environmentId)).toBeUndefined();
    await next.apply(newer);
    await untilState(next, newer, "ready");
    await next.remove(desired.environmentId, { erase: true }); // Would end this test if it signalled the other process.
  },
  TEST_MS,
);
