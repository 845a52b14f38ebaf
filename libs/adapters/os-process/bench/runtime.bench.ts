/**
 * What one environment costs while nothing happens in it, and how long it takes to get one: `node deploy/run-ts.mjs
 * libs/adapters/os-process/bench/runtime.bench.ts <bundle of perdure server>`. Reads /proc, so Linux alone.
 *
 * 2026-11-21, two cores that others used too: ready after 0.9 s · 100 MiB resident · 0.3 % of a core.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Secret, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { type EnvironmentLimits, newAccountId, newEnvironmentId } from "@perdure/cloud";
import { openProcessProvisioner } from "../src/index.js";

const IDLE_MS = 15_000;
const TICKS_PER_SECOND = 100;

const limits: EnvironmentLimits = {
  ingressRate: { perSecond: 20, burst: 50 },
  adminRate: { perSecond: 5, burst: 20 },
  bodyBytesMax: 4 * 1024 * 1024,
  concurrentInvocationsMax: 100,
  storedBytesMax: 1024 ** 3,
  retentionMsMax: 86_400_000,
  deploymentsMax: 20,
  servicesMax: 50,
  subscriptionsMax: 0,
  tunnelNamesMax: 4,
  tunnelConnectionsMax: 16,
  memoryMibMax: 256,
  plainHttpAllowed: false,
};

const directory = mkdtempSync(join(tmpdir(), "perdure-bench-"));
const program = process.argv[2] ?? "services/standalone/dist/main.mjs";
const provisioner = openProcessProvisioner(
  { clock: systemClock, random: systemRandom, logger: silentLogger },
  { directory, program, ports: { first: 42_000, last: 42_020 }, egress: "guarded" },
);
try {
  const { privateKey } = generateKeyPairSync("ed25519");
  const signingKeyPem = new Secret(privateKey.export({ type: "pkcs8", format: "pem" }) as string);
  for (const round of ["first", "second"]) {
    const environmentId = newEnvironmentId(Date.now(), systemRandom);
    const ready = new Promise<void>((resolve) =>
      provisioner.onChange((id, state) => id === environmentId && state?.phase === "ready" && resolve()),
    );
    const startedAtMs = performance.now();
    const ids = { environmentId, accountId: newAccountId(systemRandom), region: "us" } as const;
    const desired = { ...ids, generation: 1, mode: "running", signingKeyPem, limits, ingressUrl: "http://x.test" } as const;
    await provisioner.apply({ ...desired, tunnels: undefined });
    await ready;
    const readyMs = Math.round(performance.now() - startedAtMs);
    const { pid } = JSON.parse(readFileSync(join(directory, environmentId, "process.json"), "utf8")) as { pid: number };
    await delay(IDLE_MS / 3); // Work after its start is not idleness.
    const before = ticksOf(pid);
    await delay(IDLE_MS);
    const cpuPercent = ((ticksOf(pid) - before) / TICKS_PER_SECOND / (IDLE_MS / 1_000)) * 100;
    console.log(JSON.stringify({ round, readyMs, residentMib: residentMibOf(pid), cpuPercent: Number(cpuPercent.toFixed(2)) }));
  }
} finally {
  await provisioner[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
}

/** User and system time of the process. */
function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

function residentMibOf(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round(Number(line?.[1]) / 1_024);
}
