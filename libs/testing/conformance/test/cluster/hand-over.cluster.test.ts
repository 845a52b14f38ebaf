/** A worker that drains lets handlers end that run, where they end soon; what takes longer is run again elsewhere, once in effect. */

import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { DevCluster } from "@perdure/dev-cluster";
import { type Context, service } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint, StubbornClient, TestAdminClient } from "../../src/index.js";

const WHOLE_TEST_MS = 240_000;
/** The programs may have to be built first. */
const START_MS = 300_000;
const CALLERS = 16;
/** Well below what a hand-over waits for, and above it. */
const SOON_MS = 60;
const LONG_MS = 4_000;
/** Of the calls that run at the hand-over, half of the callers' as a rule. */
const AGAIN_MAX = 2;

/** Attempts of each call. */
const attempts = new Map<string, number>();
const thinker = service({
  name: "Thinker",
  handlers: {
    /** Works by itself, so that an attempt that is broken off begins from the start. */
    think: async (ctx: Context, { name, forMs }: { name: string; forMs: number }) => {
      attempts.set(name, (attempts.get(name) ?? 0) + 1);
      await delay(forMs);
      return await ctx.run("thought", () => name);
    },
  },
});

let cluster: DevCluster;
let endpoint: SdkEndpoint;
let admin: TestAdminClient;
beforeAll(async () => {
  cluster = await DevCluster.start({ workers: 2, gateways: 1 });
  endpoint = await SdkEndpoint.start({ services: [thinker], kind: "h2-bidi" });
  admin = new TestAdminClient(cluster.adminUrl);
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), 30_000);
}, START_MS);
afterAll(async () => {
  admin?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
}, 60_000);

async function drainOf(worker: DevCluster["workers"][number]) {
  const { probes } = await worker.ready();
  const url = String(probes).replace("localhost", "127.0.0.1").replace("/readyz", "/drain");
  return async (method: "GET" | "POST" | "DELETE"): Promise<Readonly<Record<string, unknown>>> =>
    (await (await fetch(url, { method })).json()) as Record<string, unknown>;
}

test(
  "handlers that end soon are not run again when their partition is handed over, others are, and all callers get one response",
  async () => {
    const [first, second] = await Promise.all(cluster.workers.slice(0, 2).map(drainOf));
    if (first === undefined || second === undefined) throw new Error("there are two workers");
    const partitions = async (drain: typeof first): Promise<number> => Number((await drain("GET"))["partitions"]);
    const balanced = async (): Promise<boolean> => (await partitions(first)) === 12 && (await partitions(second)) === 12;
    await eventually("both lead as many", balanced, 30_000);
    using client = new StubbornClient(cluster.ingressUrls[0] as string);
    const call = async (name: string, forMs: number): Promise<void> =>
      expect(await client.call<string>(["Thinker", "think"], { name, forMs }, name)).toBe(name);

    let isOver = false;
    let calls = 0;
    const caller = async (): Promise<void> => {
      while (!isOver) await call(`soon ${++calls}`, SOON_MS);
    };
    const callers = Array.from({ length: CALLERS }, caller);
    await eventually("calls are answered", () => calls > 4 * CALLERS, 60_000);
    expect((await first("POST"))["draining"]).toBe(true);
    await eventually("nothing is left", async () => (await partitions(first)) === 0, 60_000);
    isOver = true;
    await Promise.all(callers);
    // One that waits for its step to be stored in that moment may suspend, and begins once more after it.
    expect([...attempts].filter(([, count]) => count > 1).length).toBeLessThanOrEqual(AGAIN_MAX);

    expect((await first("DELETE"))["draining"]).toBe(false);
    await eventually("it has its share again", balanced, 60_000);
    attempts.clear();
    const longCalls = Array.from({ length: CALLERS }, (_, n) => call(`late ${n}`, LONG_MS));
    await eventually("all run", () => attempts.size === CALLERS, 30_000);
    expect((await second("POST"))["draining"]).toBe(true);
    await eventually("nothing is left", async () => (await partitions(second)) === 0, 60_000);
    await Promise.all(longCalls);
    expect(Math.max(...attempts.values())).toBe(2);
    expect((await second("DELETE"))["draining"]).toBe(false);
  },
  WHOLE_TEST_MS,
);
