/**
 * How long the event loop of the server stands still beside large fan-outs and crowds that wake: `node deploy/run-ts.mjs
 * libs/conformance/bench/event-loop.ts [children] [sleepers]`. Prints the largest delay of each second (`nodejs_eventloop_lag_max_seconds`) and the
 * processor time of the server for each part.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Context, RestatePromise, service } from "@restatedev/restate-sdk";
import { World } from "../src/index.js";

const CHILDREN = Number(process.argv[2] ?? 10_000);
const SLEEPERS = Number(process.argv[3] ?? 16_000);
const AT_ONCE = 64;
const SAMPLE_MS = 1_000;

let wakeAtMs = 0;
let woken = 0;
let isFannedOut = false;
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
const sleeper = service({
  name: "Sleeper",
  options: { inactivityTimeout: 100 },
  handlers: {
    sleep: async (ctx: Context) => {
      await ctx.sleep(Math.max(1, wakeAtMs - Date.now()));
      woken++;
    },
  },
});

const { PERDURE_NODE_OPTIONS = "" } = process.env;
await using world = await World.start({ environment: { PERDURE_NODE_OPTIONS } });
await world.deploy({ services: [child, parent, sleeper] });

/** Of the server: processor seconds so far, and the largest delay since the last call. */
async function sample(): Promise<{ readonly cpu: number; readonly lag: number }> {
  const read = async (): Promise<string> => (await fetch(`${world.server.adminUrl}/metrics`)).text();
  const text = await read().catch(read); // A connection that was kept for the next sample may have been closed.
  const of = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  return { cpu: of("process_cpu_seconds_total"), lag: of("nodejs_eventloop_lag_max_seconds") };
}

async function measure(what: string, work: () => Promise<void>): Promise<void> {
  const before = await sample();
  const lags: number[] = [];
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await delay(SAMPLE_MS);
    lags.push((await sample()).lag);
  }
  await done;
  const cpu = (await sample()).cpu - before.cpu;
  const worst = lags.sort((a, b) => b - a).slice(0, 5);
  console.log(
    `${what}: ${cpu.toFixed(1)} s of processor time; largest delays, ms: ${worst.map((s) => Math.round(s * 1000)).join(", ")}`,
  );
}

await measure(`fan-out of ${CHILDREN}`, async () => {
  await world.ingress.send(["Parent", "fanOut"], CHILDREN);
  while (!isFannedOut) await delay(100);
});

let left = SLEEPERS;
wakeAtMs = Date.now() + 1_000 * Number(process.argv[4] ?? 60);
await measure(`${SLEEPERS} fall asleep`, async () => {
  const callers = Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) await world.ingress.send(["Sleeper", "sleep"]);
  });
  await Promise.all(callers);
  if (Date.now() > wakeAtMs) console.log("too few seconds to fall asleep");
  while (Date.now() < wakeAtMs - 1_000) await delay(100);
});
await measure(`${SLEEPERS} wake`, async () => {
  while (woken < SLEEPERS) await delay(100);
});
process.exit(0);
