/** A whole cluster of real processes: everything that it accepted is executed once, whichever process crashes. */

import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DevCluster } from "@perdure/dev-cluster";
import { eventually, SdkEndpoint, StubbornClient, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { type CrashJob, counterObject, workService } from "../../src/services/crash.js";

const WHOLE_TEST_MS = 240_000;

let cluster: DevCluster;
let endpoint: SdkEndpoint;
let admin: TestAdminClient;
beforeAll(async () => {
  cluster = await DevCluster.start({ workerSettings: { "worker.invoker.inactivity-timeout": "50ms" } });
  endpoint = await SdkEndpoint.start({ services: [counterObject, workService], kind: "h2-bidi" });
  admin = new TestAdminClient(cluster.adminUrl);
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), 30_000);
}, WHOLE_TEST_MS);
afterAll(async () => {
  admin[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
}, 60_000);

/** Runs jobs of several callers until it is stopped; resolves with all that were done and their expected sums. */
function load(callers: number, round: string) {
  const done: CrashJob[] = [];
  const expected = new Map<string, number>();
  let stop = false;
  const clients = cluster.ingressUrls.map((url) => new StubbornClient(url));
  const caller = async (number: number): Promise<void> => {
    const client = clients[number % clients.length] as StubbornClient;
    for (let i = 0; !stop; i++) {
      const counters = [`${round} ${number % 5}`, `${round} ${i % 5}`];
      const job = { name: `${round}.${number}.${i}`, steps: 1 + (i % 3), sleepMs: (i % 4) * 20, counters };
      for (const [index, key] of counters.entries()) expected.set(key, (expected.get(key) ?? 0) + (index === 0 ? job.steps : 1));
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
      const ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
      await eventually(
        "every counter is exact",
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

interface PartitionRow {
  readonly leader: string;
  readonly epoch: number;
  readonly leader_since: string;
}

/** Rows of all partitions once each has a leader, and so many workers lead some. */
async function untilAllHaveLeaders(workers: number): Promise<readonly PartitionRow[]> {
  return await eventually(
    `${workers} workers lead all partitions`,
    async () => {
      const nodes = await admin.query("SELECT id, version, partitions_leading AS leading FROM sys_node WHERE status = 'alive'");
      const rows = await admin.query(
        "SELECT p.leader, p.epoch, p.leader_since FROM sys_partition p JOIN sys_node n ON n.id = p.leader AND n.address = p.leader_address " +
          "WHERE p.status = 'leading' AND p.lease_expires_at > p.leader_since ORDER BY p.id",
      );
      const isBalanced = nodes.length === workers && nodes.every(({ leading }) => Number(leading) > 0);
      return isBalanced && rows.length === 24 ? (rows as unknown as readonly PartitionRow[]) : undefined;
    },
    60_000,
  );
}

/** Requests to the drain hook of a worker. */
function drainClient(readyz: string) {
  const url = (path: string): string => readyz.replace("localhost", "127.0.0.1").replace("/readyz", path);
  return {
    async request(method: "GET" | "POST" | "DELETE"): Promise<Readonly<Record<string, unknown>>> {
      const answer = await fetch(url("/drain"), { method });
      expect(answer.status).toBe(200);
      return (await answer.json()) as Record<string, unknown>;
    },
    prestop: async (): Promise<unknown> => (await fetch(url("/prestop"))).json(),
  };
}
type DrainClient = ReturnType<typeof drainClient>;

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
      const beforeKill = await untilAllHaveLeaders(2);
      await (cluster.workers[1] as NonNullable<(typeof cluster.workers)[1]>).kill();
      const before = jobs.done.length;
      await eventually("work continues", () => jobs.done.length > before + 50, 60_000);
      await cluster.addWorker();
      const after = jobs.done.length;
      const afterKill = await untilAllHaveLeaders(2);
      for (const [index, now] of afterKill.entries()) {
        const was = beforeKill[index] as (typeof beforeKill)[number];
        if (now.leader === was.leader) expect(now).toMatchObject({ epoch: was.epoch, leader_since: was.leader_since });
        else expect(now.epoch).toBeGreaterThan(was.epoch);
      }
      await eventually("work continues with the new one", () => jobs.done.length > after + 50, 60_000);
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
      await cluster.redis.startAgain();
      // A call without an idempotency key is new, so no archive is read.
      const ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
      const plain: CrashJob = { name: "plain", steps: 2, sleepMs: 20, counters: ["plain", "plain"] };
      for (let n = 0; n < 20; n++) {
        const call = async () => (await ingress.call(["Work", "work"], plain)).status === 200;
        await eventually("work continues without a database", call, 90_000);
      }
      ingress[Symbol.dispose]();
      await cluster.postgres.startAgain();
      const before = jobs.done.length;
      await eventually("callers with keys continue with it", () => jobs.done.length > before + 50, 60_000);
      await jobs.finish();
    },
    WHOLE_TEST_MS,
  );

  test(
    "moves everything to the others when a worker is drained, and some back when it may stay; a hook is held until it is drained",
    async () => {
      const workers = cluster.workers.filter((worker) => worker.isRunning); // One was killed.
      const drainClients = await Promise.all(
        workers.map(async (worker) => drainClient(String((await worker.ready())["probes"]))),
      );
      const [stays, goes] = drainClients as [DrainClient, DrainClient];
      const jobs = load(8, "drain");
      await eventually("work is done", () => jobs.done.length > 50, 60_000);
      expect(await goes.request("GET")).toMatchObject({ draining: false, drainingSeconds: 0, subscriptions: 0 });
      expect((await goes.request("POST"))["draining"]).toBe(true);
      await eventually("nothing is left", async () => (await goes.request("POST"))["partitions"] === 0, 30_000);
      const before = jobs.done.length;
      await eventually("work continues elsewhere", () => jobs.done.length > before + 50, 60_000);
      expect((await goes.request("DELETE"))["draining"]).toBe(false);
      await eventually("it has its share again", async () => Number((await goes.request("GET"))["partitions"]) > 0, 30_000);
      await jobs.finish();

      const ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
      const later: CrashJob = { name: "later", steps: 1, sleepMs: 0, counters: ["later"] };
      const dueAtMs = Date.now() + 120_000;
      await ingress.send(["Work", "work"], later, { delay: "120s" });
      ingress[Symbol.dispose]();
      await eventually(
        "all is quiet except for one delayed invocation",
        async () => {
          const statuses = await Promise.all(drainClients.map((client) => client.request("GET")));
          const due = statuses.map(({ timerDueAtMs }) => timerDueAtMs).filter((ms) => ms !== null);
          if (statuses.every(({ inFlight }) => inFlight === false) && Math.abs(Number(due[0]) - dueAtMs) < 5_000) return true;
          throw new Error(`due at ${dueAtMs}, got ${JSON.stringify(statuses)}`);
        },
        15_000,
      );
      expect(await goes.prestop()).toMatchObject({ partitions: 0 });
      await goes.request("DELETE"); // Too late.
      expect(await goes.request("GET")).toMatchObject({ draining: true, partitions: 0 });
      await eventually("the other has all", async () => Number((await stays.request("GET"))["partitions"]) === 24, 30_000);
    },
    WHOLE_TEST_MS,
  );
});
