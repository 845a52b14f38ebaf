/**
 * A cluster whose Redis has lost its data, or has other data: no worker leads, no partition starts empty, and restoring the right data
 * ends it. Only the mark of the lost data set permits continuing without them.
 */

import { cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DevCluster, type ServiceProgram } from "@perdure/dev-cluster";
import { freePorts, startRedis } from "@perdure/servers";
import { type Context, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint, TestAdminClient, TestIngressClient, temporaryDirectory } from "../../src/index.js";

const TEST_MS = 180_000;
const START_MS = 300_000;

const counter = object({
  name: "Counter",
  handlers: {
    add: async (ctx: ObjectContext, by: number) => {
      const value = ((await ctx.get<number>("n")) ?? 0) + by;
      ctx.set("n", value);
      return value;
    },
    get: async (ctx: ObjectContext) => (await ctx.get<number>("n")) ?? 0,
  },
});
const waiter = service({ name: "Waiter", handlers: { wait: async (ctx: Context) => ctx.sleep(3_600_000) } });

const owned = new AsyncDisposableStack();
let cluster: DevCluster;
let folder: string;
let admin: TestAdminClient;
let ingress: TestIngressClient;

beforeAll(async () => {
  folder = temporaryDirectory();
  owned.defer(() => rmSync(folder, { recursive: true, force: true }));
  const directories = { postgres: join(folder, "postgres"), redis: join(folder, "redis") };
  for (const directory of Object.values(directories)) mkdirSync(directory);
  const endpoint = owned.use(await SdkEndpoint.start({ services: [counter, waiter] }));
  cluster = owned.use(await DevCluster.start({ directories }));
  admin = owned.use(new TestAdminClient(cluster.adminUrl));
  ingress = owned.use(new TestIngressClient(cluster.ingressUrls[0] as string));
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), 30_000);
  expect(await eventually("calls are answered", () => add("erx1").catch(() => undefined), 30_000)).toBe(1);
}, START_MS);
afterAll(() => owned.disposeAsync(), 60_000);

/** The value after it; throws when the call is refused. */
const add = (key: string): Promise<number> => ingress.result<number>(["Counter", "erx", "add"], 1, { idempotencyKey: key });
const probesOf = async (worker: ServiceProgram): Promise<string> => new URL((await worker.ready())["probes"] as string).origin;
const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

async function mismatchOf(probes: string): Promise<number> {
  const metrics = await (await fetch(`${probes}/metrics`)).text();
  return Number(/^perdure_worker_data_set_mismatch (\d)$/m.exec(metrics)?.[1]);
}

/** Resolves when the worker reports that it leads nothing and the reason; with the mark that it expects. */
async function refuses(worker: ServiceProgram, probes: string): Promise<string> {
  // A commit may fail a moment before the mark was checked: the first reason is another one then.
  await eventually(
    "the worker is not ready because of its data set",
    async () => {
      const readiness = await fetch(`${probes}/readyz`);
      return readiness.status === 503 && (await readiness.text()).includes("data set");
    },
    30_000,
  );
  expect(await mismatchOf(probes)).toBe(1);
  const line = worker.lines.findLast((one) => one.includes('"STO0005"')) ?? "{}";
  const { mark } = JSON.parse(line) as { mark?: string };
  expect(mark).toMatch(/^[0-9a-f]{32}$/);
  return mark as string;
}

async function heals(worker: ServiceProgram, probes: string): Promise<void> {
  await eventually(`worker ${worker.pid} is ready`, async () => (await statusOf(`${probes}/readyz`)) === 200, 60_000);
  expect(await mismatchOf(probes)).toBe(0);
}

/** Keys of partitions: leases, epochs, invocations, state. */
const partitionKeys = async (): Promise<readonly unknown[]> =>
  (await cluster.redis.request("KEYS", "{*:*}:*")) as readonly unknown[];

/** Stops Redis, exchanges its folder by what `change` makes of it, and starts it again. */
async function exchangeFolder(change: (directory: string) => void): Promise<void> {
  await cluster.redis.kill();
  change(cluster.redis.directory);
  await cluster.redis.startAgain();
}

describe("a cluster whose Redis has other data", () => {
  test(
    "leads nothing when it comes back empty, and continues where it was when the data are back",
    async () => {
      expect(await add("erx2")).toBe(2);
      const { invocationId } = await ingress.send(["Waiter", "wait"]);
      const [first, second] = cluster.workers as [ServiceProgram, ServiceProgram];
      const probes = [await probesOf(first), await probesOf(second)] as const;
      const gone = join(folder, "redis.gone");
      await exchangeFolder((directory) => {
        renameSync(directory, gone);
        mkdirSync(directory);
      });
      await refuses(first, probes[0]);
      await refuses(second, probes[1]);
      expect((await ingress.call(["Counter", "erx", "get"])).status).toBe(503);
      await expect(add("erx1")).rejects.toThrow("503");
      expect(await partitionKeys()).toEqual([]);

      // One that starts now finds the same, before it leads anything.
      await second.kill();
      const [port] = (await freePorts(1)) as [number];
      await second.startAgain({ "probes.bind-port": port });
      const restarted = `http://127.0.0.1:${port}`;
      await eventually("it answers", () => statusOf(`${restarted}/readyz`).catch(() => undefined), 30_000);
      await eventually("it logs the reason", () => second.lines.some((line) => line.includes('"STO0005"')), 30_000);
      await refuses(second, restarted);
      expect(await partitionKeys()).toEqual([]);

      await exchangeFolder((directory) => {
        rmSync(directory, { recursive: true });
        renameSync(gone, directory);
      });
      await heals(first, probes[0]);
      await heals(second, restarted);
      expect(await add("erx1")).toBe(1);
      expect(await add("erx3")).toBe(3);
      expect((await ingress.output(invocationId)).status).toBe(470);
    },
    TEST_MS,
  );

  test(
    "answers nothing wrong when it is flushed while calls run",
    async () => {
      const [first, second] = cluster.workers as [ServiceProgram, ServiceProgram];
      const probes = [await probesOf(first), await probesOf(second)] as const;
      const copy = join(folder, "redis.copy");
      await exchangeFolder((directory) => cpSync(directory, copy, { recursive: true }));
      await eventually("calls are answered", () => add("warm").catch(() => undefined), 30_000);

      const answers: number[] = [];
      let isOver = false;
      const calls = Promise.all(
        Array.from({ length: 4 }, async (_, caller) => {
          for (let n = 0; !isOver && n < 500; n++) {
            const answer = await add(`run ${caller} ${n}`).catch(() => undefined);
            if (answer !== undefined) answers.push(answer);
          }
        }),
      );
      await eventually("calls run", () => answers.length > 20, 30_000);
      await cluster.redis.request("FLUSHALL");
      await refuses(first, probes[0]);
      await refuses(second, probes[1]);
      // No number twice, none anew: the object never began at zero.
      expect(new Set(answers).size).toBe(answers.length);
      expect(Math.min(...answers)).toBeGreaterThan(4);
      expect(await partitionKeys()).toEqual([]);
      isOver = true;
      await exchangeFolder((directory) => {
        rmSync(directory, { recursive: true });
        renameSync(copy, directory);
      });
      await calls;
      await heals(first, probes[0]);
      await heals(second, probes[1]);
      expect(await add("erx2")).toBe(2);
    },
    TEST_MS,
  );

  test(
    "starts no worker on another Redis, and writes nothing there",
    async () => {
      await using empty = await startRedis();
      const second = cluster.workers[1] as ServiceProgram;
      await second.kill();
      const [port] = (await freePorts(1)) as [number];
      await second.startAgain({ "redis.url": empty.url, "probes.bind-port": port });
      await eventually("it logs the reason", () => second.lines.some((line) => line.includes('"STO0005"')), 60_000);
      await refuses(second, `http://127.0.0.1:${port}`);
      expect(await empty.request("DBSIZE")).toBe(0);
      await second.kill();
      await second.startAgain();
      await second.ready();
    },
    TEST_MS,
  );

  test(
    "continues without the data only when their mark is given, and workers that were not restarted follow",
    async () => {
      const [first, second] = cluster.workers as [ServiceProgram, ServiceProgram];
      const probes = [await probesOf(first), await probesOf(second)] as const;
      // The second worker was killed and restarted: its partitions have no leader until its leases have ended.
      const { invocationId } = await eventually(
        "a leader accepts the invocation",
        () => ingress.send(["Waiter", "wait"]),
        60_000,
      );
      await cluster.redis.request("FLUSHALL");
      const mark = await refuses(first, probes[0]);
      await refuses(second, probes[1]);
      const [port] = (await freePorts(1)) as [number];
      const restarted = `http://127.0.0.1:${port}`;
      await second.kill();
      await second.startAgain({ "worker.accept-data-loss": "f".repeat(32), "probes.bind-port": port });
      await eventually("it logs the reason", () => second.lines.some((line) => line.includes('"STO0005"')), 60_000);
      expect(await refuses(second, restarted)).toBe(mark);
      expect(await first.runCommand("accept-data-loss", "e".repeat(32))).toMatchObject({
        code: 1,
        text: expect.stringContaining(mark),
      });
      expect(await partitionKeys()).toEqual([]);
      const accepted = await first.runCommand("accept-data-loss", mark);
      expect(accepted).toMatchObject({ code: 0, text: expect.stringContaining("the loss of a data set was accepted") });
      await heals(second, restarted);
      await heals(first, probes[0]);
      const again = await second.runCommand("accept-data-loss", mark);
      expect(again).toMatchObject({ code: 0, text: expect.stringContaining("accepted before") });

      await eventually("calls are answered", () => add("erx1").catch(() => undefined), 30_000);
      expect(await ingress.result(["Counter", "erx", "get"])).toBe(1);
      expect((await ingress.output(invocationId)).status).toBe(404);
      const [key] = (await cluster.redis.request("KEYS", "{*:0}:epoch")) as readonly string[];
      expect(Number(await cluster.redis.request("HGET", key as string, "epoch"))).toBeGreaterThan(2 ** 32);
    },
    TEST_MS,
  );

  test(
    "continues as well when the mark is given to a worker at its port of probes, once",
    async () => {
      const first = cluster.workers[0] as ServiceProgram;
      const probes = await probesOf(first);
      const accept = async (mark: string) => {
        const answer = await fetch(`${probes}/accept-data-loss?mark=${mark}`, { method: "POST" });
        return [answer.status, await answer.json()];
      };
      expect(await accept("e".repeat(32))).toEqual([409, { reason: expect.stringContaining("there is no loss to accept") }]);
      await cluster.redis.request("FLUSHALL");
      const mark = await refuses(first, probes);
      expect(await accept("e".repeat(32))).toEqual([409, { reason: expect.stringContaining(mark) }]);
      expect((await fetch(`${probes}/accept-data-loss?mark=${mark}`)).status).toBe(405);
      expect(await partitionKeys()).toEqual([]);
      expect(await accept(mark)).toEqual([200, { kind: "accepted" }]);
      await heals(first, probes);
      expect(await accept(mark)).toEqual([200, { kind: "acceptedBefore" }]);
      await eventually("calls are answered", () => add("erx2").catch(() => undefined), 30_000);
    },
    TEST_MS,
  );
});
