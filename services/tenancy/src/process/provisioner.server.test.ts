import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { aDesiredRuntime } from "@perdure/cloud/testing";
import { Health, Lifecycle, type ProcessPorts } from "@perdure/process-kit";
import { Metrics, noTracer, Sampler } from "@perdure/telemetry";
import { loadSettings } from "./config.js";
import { provisionerOf } from "./provisioner.js";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "perdure-provisioner-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const lifecycle = new Lifecycle({ logger: silentLogger, clock: systemClock, health: new Health(), shutdownTimeoutMs: 1 });
const ports: ProcessPorts = {
  lifecycle,
  metrics: new Metrics(),
  tracer: noTracer,
  invocationTracer: noTracer,
  sampler: new Sampler({ ratio: 0 }, systemRandom),
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
};

function open(...flags: string[]) {
  return provisionerOf(loadSettings({ file: undefined, environment: {}, flags }).values, ports);
}

test("without a directory, a process does not provision environments", () => {
  expect(open("--provisioner.program", "main.mjs")).toBeUndefined();
});

test("a control group that does not exist is refused with OPS0001", async () => {
  const opening = open(
    "--provisioner.directory",
    directory,
    "--provisioner.program",
    "main.mjs",
    "--provisioner.cgroup",
    directory,
  );
  await expect(opening?.()).rejects.toMatchObject({ code: "OPS0001", detail: expect.stringContaining("provisioner.cgroup") });
});

test("with a directory, runtimes are made there", async () => {
  await using provisioner = await open("--provisioner.directory", directory, "--provisioner.program", "main.mjs")?.();
  expect(provisioner?.state(aDesiredRuntime().environmentId)).toBeUndefined();
});

test("runtimes of this machine get the trace collector that settings name, and none otherwise", async () => {
  const argumentsWith = async (...flags: string[]): Promise<string[]> => {
    const opening = open(
      "--provisioner.directory",
      directory,
      "--provisioner.program",
      "main.mjs",
      "--provisioner.on-stop=stop",
      ...flags,
    );
    await using provisioner = await opening?.();
    const desired = aDesiredRuntime();
    await provisioner?.apply(desired);
    const { args } = JSON.parse(readFileSync(join(directory, desired.environmentId, "launch.json"), "utf8")) as {
      args: string[];
    };
    return args.filter((arg) => arg.startsWith("--tracing"));
  };
  expect(await argumentsWith("--provisioner.tracing-endpoint=http://localhost:4318")).toEqual([
    "--tracing-endpoint=http://localhost:4318",
  ]);
  expect(await argumentsWith()).toEqual([]);
});

test.each([
  [[], "provisioner.runtime-version"],
  [["--provisioner.runtime-version=1.4.0", "--provisioner.hibernate-after=1m"], "provisioner.hibernate-after"],
  [["--provisioner.runtime-version=1.4.0", "--provisioner.kubeconfig-file=nowhere"], "provisioner.kubeconfig-file"],
])("OPS0001 when settings for a cluster do not fit together: %o", (flags, named) => {
  const opening = (): unknown => open("--provisioner.kind=kubernetes", ...flags);
  expect(opening).toThrow(expect.objectContaining({ code: "OPS0001", detail: expect.stringContaining(named) }));
});

test.each([
  [[], "provisioner.program"],
  [["--provisioner.program", "main.mjs", "--provisioner.on-stop=stop", "--provisioner.ports-first=0"], "provisioner.ports-first"],
  [["--provisioner.program", "main.mjs", "--provisioner.ports-last=41000"], "provisioner.ports-last"],
])("OPS0001 when settings do not fit together: %o", (flags, named) => {
  const opening = (): unknown => open("--provisioner.directory", directory, ...flags);
  expect(opening).toThrow(expect.objectContaining({ code: "OPS0001", detail: expect.stringContaining(named) }));
});
