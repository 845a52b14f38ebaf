/** A worker whose commits do not become durable is not ready, and is ready when they do again. */

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { DevCluster, type ServiceProgram } from "@perdure/dev-cluster";
import { eventually } from "../../src/index.js";

/** A probe is answered within this, with the 1.5 s that it waits for a commit and a busy machine. */
const ANSWER_MS = 6_000;
/** A commit counts for 5 s; then a probe finds the next one. */
const NOTICED_MS = 20_000;

let cluster: DevCluster;
beforeAll(async () => {
  cluster = await DevCluster.start({ workers: 2, gateways: 1 });
}, 300_000);
afterAll(() => cluster[Symbol.asyncDispose](), 60_000);

const probeOf = async (worker: ServiceProgram): Promise<string> => new URL((await worker.ready())["probes"] as string).href;

async function readiness(url: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
  return { status: answer.status, text: await answer.text() };
}

test("workers beside a frozen Redis are not ready, and ready again when it continues", async () => {
  const urls = await Promise.all(cluster.workers.map(probeOf));
  for (const url of urls) await eventually("ready", async () => (await readiness(url)).status === 200, 30_000);
  cluster.redis.freeze();
  try {
    for (const url of urls) {
      await eventually("not ready", async () => (await readiness(url)).status === 503, NOTICED_MS);
      expect((await readiness(url)).text).toBe("waiting for: a durable commit\n");
    }
    for (const worker of cluster.workers) {
      const live = new URL("/livez", await probeOf(worker));
      expect((await fetch(live)).status).toBe(200);
    }
  } finally {
    cluster.redis.thaw();
  }
  for (const url of urls) await eventually("ready again", async () => (await readiness(url)).status === 200, 30_000);
}, 120_000);

test("workers whose Redis refuses what is written are not ready", async () => {
  const [url] = (await Promise.all(cluster.workers.map(probeOf))) as [string];
  await cluster.redis.request("CONFIG", "SET", "min-replicas-to-write", "1");
  try {
    await eventually("not ready", async () => (await readiness(url)).status === 503, NOTICED_MS);
  } finally {
    await cluster.redis.request("CONFIG", "SET", "min-replicas-to-write", "0");
  }
  await eventually("ready again", async () => (await readiness(url)).status === 200, 30_000);
}, 120_000);
