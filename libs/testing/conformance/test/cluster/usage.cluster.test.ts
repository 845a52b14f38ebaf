/** The usage that a cluster reports is exact: no step twice and none missing, whichever process crashes. */

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { DevCluster } from "@perdure/dev-cluster";
import { type Context, service } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint, StubbornClient, TestAdminClient } from "../../src/index.js";

const WHOLE_TEST_MS = 240_000;
/** The programs may have to be built first. */
const START_MS = 300_000;
const CALLERS = 8;

const stairs = service({
  name: "Stairs",
  handlers: {
    climb: async (ctx: Context, steps: number) => {
      for (let step = 0; step < steps; step++) await ctx.run(`step ${step}`, () => step);
      return steps;
    },
  },
});

let cluster: DevCluster;
let endpoint: SdkEndpoint;
let admin: TestAdminClient;
beforeAll(async () => {
  cluster = await DevCluster.start({ workers: 2, gateways: 1, workerSettings: { "worker.num-partitions": 8 } });
  endpoint = await SdkEndpoint.start({ services: [stairs] });
  admin = new TestAdminClient(cluster.adminUrl);
  await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), 30_000);
}, START_MS);
afterAll(async () => {
  admin?.[Symbol.dispose]();
  await cluster?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
}, 60_000);

interface Usage {
  readonly source: string;
  readonly actions: number;
  readonly storedBytes: number;
}

async function usage(): Promise<Usage> {
  const { status, json } = await admin.get("/internal/usage");
  expect(status).toBe(200);
  return json as Usage;
}

test(
  "starts and steps are counted once, through the death of a worker, a hand-over, and a new management API",
  async () => {
    const before = await usage();
    expect(before.actions).toBe(0);
    let expected = 0;
    let done = 0;
    let stop = false;
    const climb = async (caller: number): Promise<void> => {
      using client = new StubbornClient(cluster.ingressUrls[0] as string);
      for (let n = 0; !stop; n++) {
        const steps = n % 4;
        expect(await client.call<number>(["Stairs", "climb"], steps, `${caller}.${n}`)).toBe(steps);
        expected += 1 + steps;
        done++;
      }
    };
    const callers = Promise.all(Array.from({ length: CALLERS }, (_, caller) => climb(caller)));
    await eventually("work is done", () => done > 40, 60_000);
    const underWay = await usage();
    expect(underWay.actions).toBeGreaterThan(40);
    await (cluster.workers[0] as NonNullable<(typeof cluster.workers)[0]>).kill();
    await cluster.addWorker();
    const atDeath = done;
    await eventually("work continues", () => done > atDeath + 40, 60_000);
    await (cluster.workers[1] as NonNullable<(typeof cluster.workers)[1]>).stop();
    const atHandOver = done;
    await eventually("work continues again", () => done > atHandOver + 40, 60_000);
    stop = true;
    await callers;
    const after = await usage();
    expect([after.source, after.actions]).toEqual([before.source, expected]);
    expect(after.actions).toBeGreaterThan(underWay.actions);
    expect(after.storedBytes).toBeGreaterThan(before.storedBytes);
    await cluster.admin.kill();
    await cluster.admin.startAgain();
    await cluster.admin.ready();
    expect(await usage()).toMatchObject({ source: before.source, actions: expected });
  },
  WHOLE_TEST_MS,
);
