/** A whole cluster of real processes: what it accepted ends once, whoever dies meanwhile. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AdminClient, eventually, IngressClient, SdkEndpoint, StubbornClient, WholeCluster } from "../../src/index.js";
import { type Job, tallyObject, workService } from "../../src/services/crash.js";

const WHOLE_TEST_MS = 240_000;

let cluster: WholeCluster;
let endpoint: SdkEndpoint;
let admin: AdminClient;
beforeAll(async () => {
  cluster = await WholeCluster.start({ workerSettings: { "worker.invoker.inactivity-timeout": "50ms" } });
  endpoint = await SdkEndpoint.start({ services: [tallyObject, workService], kind: "h2-bidi" });
  admin = new AdminClient(cluster.adminUrl);
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), 30_000);
}, WHOLE_TEST_MS);
afterAll(async () => {
  admin[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
}, 60_000);

/** Jobs from several callers until told to stop; resolves with all that were done, and what their sums should be. */
function load(callers: number, round: string) {
  const done: Job[] = [];
  const expected = new Map<string, number>();
  let stop = false;
  const clients = cluster.ingressUrls.map((url) => new StubbornClient(url));
  const caller = async (number: number): Promise<void> => {
    const client = clients[number % clients.length] as StubbornClient;
    for (let i = 0; !stop; i++) {
      const tallies = [`${round} ${number % 5}`, `${round} ${i % 5}`];
      const job = { name: `${round}.${number}.${i}`, steps: 1 + (i % 3), sleepMs: (i % 4) * 20, tallies };
      for (const [index, key] of tallies.entries()) expected.set(key, (expected.get(key) ?? 0) + (index === 0 ? job.steps : 1));
      const values = await client.call<string[]>(["Work", "work"], job, `job ${job.name}`);
      expect(values).toHaveLength(job.steps);
      done.push(job);
    }
  };
  const all = Promise.all(Array.from({ length: callers }, (_, number) => caller(number)));
  return {
    done,
    async finish(): Promise<void> {
      stop = true;
      await all;
      const ingress = new IngressClient(cluster.ingressUrls[0] as string);
      await eventually(
        "every tally is exact",
        async () => {
          for (const [key, sum] of expected) if ((await ingress.result<number>(["Tally", key, "sum"])) !== sum) return false;
          return true;
        },
        60_000,
      );
      ingress[Symbol.dispose]();
      for (const client of clients) client[Symbol.dispose]();
    },
  };
}

describe("a cluster", () => {
  test(
    "answers through every gateway, and shows what it did in SQL",
    async () => {
      const jobs = load(8, "peace");
      await eventually("work is done", () => jobs.done.length > 100, 60_000);
      await jobs.finish();
      const rows = await admin.query(
        "SELECT count(1) AS n FROM sys_invocation WHERE target_service_name = 'Work' AND status = 'completed'",
      );
      expect(Number(rows[0]?.["n"])).toBeGreaterThanOrEqual(jobs.done.length);
    },
    WHOLE_TEST_MS,
  );

  test(
    "loses nothing and does nothing twice when a worker is killed and another joins",
    async () => {
      const jobs = load(12, "kill");
      await eventually("work is done", () => jobs.done.length > 50, 60_000);
      await (cluster.workers[1] as NonNullable<(typeof cluster.workers)[1]>).kill();
      const before = jobs.done.length;
      await eventually("work goes on", () => jobs.done.length > before + 50, 60_000);
      await cluster.addWorker();
      const after = jobs.done.length;
      await eventually("work goes on with the new one", () => jobs.done.length > after + 50, 60_000);
      await jobs.finish();
    },
    WHOLE_TEST_MS,
  );

  test(
    "survives its Redis and its database being killed and started again",
    async () => {
      const jobs = load(8, "stores");
      await eventually("work is done", () => jobs.done.length > 50, 60_000);
      await cluster.redis.kill();
      await cluster.postgres.kill();
      await delay(1_000);
      await cluster.redis.start();
      const before = jobs.done.length;
      await eventually("work goes on without a database", () => jobs.done.length > before + 50, 90_000);
      await cluster.postgres.start();
      await jobs.finish();
    },
    WHOLE_TEST_MS,
  );
});
