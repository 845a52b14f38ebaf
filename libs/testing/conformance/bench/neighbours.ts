/**
 * What four attempts of one bad handler cost a good service beside it: for each mode a fresh server, four callers of a counter (published
 * SDK), a quiet phase and one beside the bad handler. Prints latencies of the good calls, failed ones, the event loop's longest delay and
 * resident memory before, at most and after a minute.
 *
 *     make build && node_modules/node/bin/node deploy/run-ts.mjs libs/testing/conformance/bench/neighbours.ts [mode …]
 *
 * With the project's own Node, because the published SDK of the endpoint hangs under Node 20 (`Promise.withResolvers`).
 *
 * NICE=19 gives the bad handler's process the lowest priority, which shows how much of the cost is the server's own and how much is
 * the processor time that the bad handler takes. SECONDS=8 is the length of a phase, SETTLE=60 the wait before the last reading of memory. Traffic goes to 127.0.0.1 only.
 * PERDURE_CONFORMANCE_EXECUTABLE names another build to measure.
 */

import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ROOT } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
import { TestAdminClient } from "../src/admin-client.js";
import { TestIngressClient } from "../src/ingress-client.js";
import { ROGUE_MODES, type RogueMode, rogueManifest, rogueScripts } from "../src/neighbours/rogue-scripts.js";
import { RawEndpoint } from "../src/raw-endpoint.js";
import { Server } from "../src/server.js";

const SECONDS = Number(process.env["SECONDS"] ?? 8);
const QUIET_SECONDS = Number(process.env["SETTLE"] ?? 60);
const ROGUE_NICE = Number(process.env["NICE"] ?? 0);
const CALLERS = 4;
const ATTEMPTS = 4;
const GOOD_PORT = Number(process.env["PORT"] ?? 27_000);

interface Phase {
  readonly calls: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  readonly loopMs: number;
  readonly rssMost: number;
}

/** Starts a program that prints a line when it listens; resolves with it and that line. */
async function startListening(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly program: ChildProgram; readonly line: string }> {
  const program = await ChildProgram.start({ command: process.execPath, args, group: "shared", env: { ...process.env, ...env } });
  return { program, line: await program.ready(() => program.lines[0]) };
}

function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** Milliseconds of the longest delay since this was read last. */
async function loopDelayMs(admin: TestAdminClient): Promise<number> {
  const { text } = await admin.get("/metrics");
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1] ?? 0) * 1000;
}

/** Calls of four good callers for `seconds`; the longest call is waited for. */
async function phase(server: Server, admin: TestAdminClient, seconds: number): Promise<Phase> {
  const times: number[] = [];
  let failed = 0;
  let loopMs = 0;
  let rssMost = 0;
  const end = performance.now() + seconds * 1000;
  await loopDelayMs(admin);
  const caller = async (number: number): Promise<void> => {
    using ingress = new TestIngressClient(server.ingressUrl);
    for (let n = 0; performance.now() < end; n++) {
      const began = performance.now();
      const call = ingress.call(["Counter", `${number}-${n % 50}`, "add"], undefined, {});
      const status = await call.then(
        (answer) => answer.status,
        (cause: Error) => cause.message,
      );
      times.push(performance.now() - began);
      if (status !== 200) {
        failed++;
        console.log(`  good call failed: ${status}`);
      }
      await delay(5);
    }
  };
  const watch = async (): Promise<void> => {
    while (performance.now() < end) {
      rssMost = Math.max(rssMost, residentMiB(server.pid));
      await delay(100);
    }
  };
  await Promise.all([watch(), ...Array.from({ length: CALLERS }, (_, number) => caller(number))]);
  loopMs = await loopDelayMs(admin);
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { calls: times.length, failed, p50: at(0.5), p99: at(0.99), worst: at(1), loopMs, rssMost };
}

function row(name: string, { calls, failed, p50, p99, worst, loopMs, rssMost }: Phase): string {
  const ms = (value: number): string => value.toFixed(0).padStart(6);
  return `${name.padEnd(26)} calls ${String(calls).padStart(5)} failed ${failed}  p50 ${ms(p50)} p99 ${ms(p99)} worst ${ms(worst)} ms  loop ${ms(loopMs)} ms  rss ${ms(rssMost)} MiB`;
}

async function measure(mode: RogueMode, rogue: string, good: string): Promise<void> {
  await using server = await Server.start();
  using admin = new TestAdminClient(server.adminUrl);
  using ingress = new TestIngressClient(server.ingressUrl);
  await admin.register({ uri: good });
  await admin.register({ uri: rogue });
  await phase(server, admin, 2); // Warm.
  const quiet = await phase(server, admin, SECONDS);
  const before = residentMiB(server.pid);
  console.log(row(`${mode}: quiet`, quiet));
  const ids: string[] = [];
  const path = mode === "bigState" ? ([mode, "one", "run"] as const) : ([mode, "run"] as const);
  for (let i = 0; i < ATTEMPTS; i++) ids.push((await ingress.send(path)).invocationId);
  const beside = await phase(server, admin, SECONDS);
  console.log(`${row(`${mode}: beside`, beside)}  p99 × ${(beside.p99 / quiet.p99).toFixed(1)}`);
  for (const id of ids) await admin.invocation(id, "kill").catch((cause: Error) => console.log(`  kill: ${cause.message}`));
  let after = residentMiB(server.pid);
  for (let second = 0; second < QUIET_SECONDS; second += 5) {
    await delay(5000);
    after = residentMiB(server.pid);
  }
  const warnings = server.lines.filter((line) => /"level":"(warn|error)"/.test(line)).length;
  console.log(
    `${`${mode}: memory`.padEnd(26)} before ${before.toFixed(0)}, most ${beside.rssMost.toFixed(0)}, after ${QUIET_SECONDS} s ${after.toFixed(0)} MiB; warnings kept ${warnings}`,
  );
}

async function main(): Promise<void> {
  const modes = process.argv.slice(2) as RogueMode[];
  const own = process.argv[1] as string;
  const good = await startListening([join(ROOT, "libs/testing/conformance/bench/endpoints/typescript.mjs")], {
    PORT: String(GOOD_PORT),
  });
  const rogue = await startListening([own, "--rogue"]);
  try {
    setPriority(rogue.program.pid, ROGUE_NICE);
    for (const mode of modes.length === 0 ? ROGUE_MODES : modes) await measure(mode, rogue.line, `http://127.0.0.1:${GOOD_PORT}`);
  } finally {
    await Promise.all([good.program.kill(), rogue.program.kill()]);
  }
}

async function serveRogue(): Promise<void> {
  const endpoint = await RawEndpoint.start({ scripts: rogueScripts({ frames: 0, forks: 0 }), manifest: rogueManifest() });
  console.log(endpoint.url);
}

await (process.argv[2] === "--rogue" ? serveRogue() : main());
