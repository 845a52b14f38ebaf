/**
 * How long the event loop of the server stands still beside large fan-outs, and crowds that wake or are killed: `node deploy/run-ts.mjs
 * libs/testing/conformance/bench/event-loop.ts [children] [suspended] [seconds until all are suspended]`. Prints for each part the processor time of the server, its
 * largest delays (`nodejs_eventloop_lag_max_seconds` of each second, which other processes make longer), and the most processor time that its thread
 * used in one piece.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Context, RestatePromise, service } from "@restatedev/restate-sdk";
import { TestWorld, temporaryDirectory } from "../src/index.js";

const CHILDREN = Number(process.argv[2] ?? 10_000);
const SUSPENDED_INVOCATIONS = Number(process.argv[3] ?? 16_000);
const AT_ONCE = 64;
const SAMPLE_MS = 1_000;

let wakeAtMs = 0;
let woken = 0;
let isFannedOut = false;
let hasWaited = false;
const child = service({ name: "Child", handlers: { echo: async (_ctx: Context, n: number) => n } });
const parent = service({
  name: "Parent",
  handlers: {
    fanOut: async (ctx: Context, count: number) => {
      const calls = Array.from({ length: count }, (_, n) => ctx.serviceClient(child).echo(n));
      await RestatePromise.all(calls);
      isFannedOut = true;
    },
  },
});
/** Suspends with a long journal, replays it and continues. */
const patient = service({
  name: "Patient",
  options: { inactivityTimeout: 100, journalRetention: 0 },
  handlers: {
    fanOutAndWait: async (ctx: Context, count: number) => {
      await RestatePromise.all(Array.from({ length: count }, (_, n) => ctx.serviceClient(child).echo(n)));
      await ctx.sleep(3_000);
      hasWaited = true;
    },
  },
});
const suspendedService = service({
  name: "Sleeper",
  options: { inactivityTimeout: 100 },
  handlers: {
    sleep: async (ctx: Context) => {
      await ctx.sleep(Math.max(1, wakeAtMs - Date.now()));
      woken++;
    },
    hour: async (ctx: Context) => ctx.sleep(3_600_000),
  },
});
const holder = service({
  name: "Holder",
  options: { inactivityTimeout: 100 },
  handlers: {
    hold: async (ctx: Context, count: number) => {
      await RestatePromise.all(Array.from({ length: count }, () => ctx.serviceClient(suspendedService).hour()));
    },
  },
});

const baseDir = temporaryDirectory();
const probed = join(baseDir, "loop-probe.jsonl");
const probe = new URL("loop-probe.mjs", import.meta.url).pathname;
const PERDURE_NODE_OPTIONS = `--import ${probe} ${process.env["PERDURE_NODE_OPTIONS"] ?? ""}`;
const world = await TestWorld.start({ baseDir, environment: { PERDURE_NODE_OPTIONS, LOOP_PROBE: probed } });
await world.deploy({ services: [child, parent, patient, suspendedService, holder] });

/** Reads the server's processor seconds so far, and its largest delay since the last call. */
async function sample(): Promise<{ readonly cpu: number; readonly lag: number }> {
  const read = async (): Promise<string> => (await fetch(`${world.server.adminUrl}/metrics`)).text();
  const text = await read().catch(read); // A connection that was kept for the next sample may have been closed.
  const of = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  return { cpu: of("process_cpu_seconds_total"), lag: of("nodejs_eventloop_lag_max_seconds") };
}

/** Processor milliseconds of each larger piece so far. */
function pieces(): readonly number[] {
  if (!existsSync(probed)) return [];
  return readFileSync(probed, "utf8").trimEnd().split("\n").map(Number);
}

const largest = (values: readonly number[]): string =>
  [...values]
    .sort((a, b) => b - a)
    .slice(0, 5)
    .map(Math.round)
    .join(", ");

async function measure(what: string, work: () => Promise<void>): Promise<void> {
  const before = await sample();
  const piecesBefore = pieces().length;
  const lags: number[] = [];
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await delay(SAMPLE_MS);
    lags.push((await sample()).lag * 1_000);
  }
  await done;
  const cpu = (await sample()).cpu - before.cpu;
  const parts = `largest delays, ms: ${largest(lags)}; processor time in one piece, ms: ${largest(pieces().slice(piecesBefore))}`;
  console.log(`${what}: ${cpu.toFixed(1)} s of processor time; ${parts}`);
}

await measure(`fan-out of ${CHILDREN}`, async () => {
  await world.ingress.send(["Parent", "fanOut"], CHILDREN);
  while (!isFannedOut) await delay(100);
});
await measure(`fan-out of ${CHILDREN}, suspended, replayed and deleted`, async () => {
  await world.ingress.send(["Patient", "fanOutAndWait"], CHILDREN);
  while (!hasWaited) await delay(100);
});

const count = async (where: string): Promise<number> =>
  Number((await world.admin.query(`SELECT count(*) AS n FROM sys_invocation WHERE ${where}`))[0]?.["n"]);
let held = "";
const heldChildren = "target_handler_name = 'hour'";
await measure(`${CHILDREN} children fall asleep`, async () => {
  held = (await world.ingress.send(["Holder", "hold"], CHILDREN)).invocationId;
  while ((await count(`${heldChildren} AND status = 'suspended'`)) < CHILDREN) await delay(1_000);
});
await measure(`their parent is killed`, async () => {
  const { status } = await world.admin.invocation(held, "kill");
  if (status !== 200) throw new Error(`the kill was answered with ${status}`);
  while ((await count(`${heldChildren} AND status = 'completed'`)) < CHILDREN) await delay(1_000);
});

let left = SUSPENDED_INVOCATIONS;
wakeAtMs = Date.now() + 1_000 * Number(process.argv[4] ?? 60);
await measure(`${SUSPENDED_INVOCATIONS} fall asleep`, async () => {
  const callers = Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) await world.ingress.send(["Sleeper", "sleep"]);
  });
  await Promise.all(callers);
  if (Date.now() > wakeAtMs) console.log("too few seconds to fall asleep");
  while (Date.now() < wakeAtMs - 1_000) await delay(100);
});
await measure(`${SUSPENDED_INVOCATIONS} wake`, async () => {
  while (woken < SUSPENDED_INVOCATIONS) await delay(100);
});
await world[Symbol.asyncDispose]();
rmSync(baseDir, { recursive: true, force: true });
