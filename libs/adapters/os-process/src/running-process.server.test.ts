import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { aDesiredRuntime } from "@perdure/cloud/testing";
import { EnvironmentFiles, type ProcessRecord } from "./files.js";
import { isAlive } from "./process-identity.js";
import { startProcess } from "./running-process.js";

const SERVER = fileURLToPath(new URL("../testdata/server.mjs", import.meta.url));

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "perdure-running-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Files on a disk that becomes full before the record of the process is written. */
class FullDisk extends EnvironmentFiles {
  lost: ProcessRecord | undefined;

  override get process(): ProcessRecord | undefined {
    return undefined;
  }

  override set process(record: ProcessRecord | undefined) {
    this.lost = record;
    throw new Error("no space left on device");
  }
}

test("a process that cannot be recorded is killed: nothing would find it again, and it holds ports and data", async () => {
  const { environmentId } = aDesiredRuntime();
  const files = new FullDisk(directory, environmentId);
  files.make();
  writeFileSync(files.secret, "secret");
  const settings = ["ingress", "admin"].flatMap((name) => [`--${name}.bind-port=0`, `--${name}.bind-address=127.0.0.1`]);
  const args = [`--base-dir=${files.data}`, `--runtime.secret-file=${files.secret}`, ...settings];
  const launch = { generation: 1, heapMib: 64, args, ingressPort: 0, adminPort: 0, fingerprint: "one" };
  const shares = { prepare: () => ({ script: "", prefix: [] }), release: () => undefined };
  const ports = { program: SERVER, files, clock: systemClock, shares };
  expect(() => startProcess(launch, ports, environmentId)).toThrow("no space left on device");
  const { pid = 0, identity = "" } = files.lost ?? {};
  expect(pid).toBeGreaterThan(0);
  for (const untilMs = performance.now() + 10_000; isAlive(pid, identity); await new Promise((next) => setTimeout(next, 20)))
    if (performance.now() > untilMs) throw new Error(`process ${pid} still runs`);
});
