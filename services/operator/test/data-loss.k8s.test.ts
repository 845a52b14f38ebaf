/** The spec accepts a permanent loss of data once, and a worker carries it out for exactly these data. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { eventsOf, eventually } from "./eventually.js";
import { FakeWorkers } from "./fake-workers.js";
import { conditionOf, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const CONDITION = "DataLossAccepted";

let world: World;
let workers: FakeWorkers;

beforeAll(async () => {
  world = await World.start();
  workers = new FakeWorkers();
  world.startOperator();
}, FIRST_MS);
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await workers?.[Symbol.asyncDispose]();
}, TEST_MS);

const reasonOf = (environment: EnvironmentResource | undefined): string | undefined =>
  environment === undefined ? undefined : conditionOf(environment, CONDITION)?.reason;

test(
  "the mark is given to a worker until one accepts, once; another mark is accepted anew",
  async () => {
    const placed = await workers.place(world.kubelet, {});
    const made = await world.create({ workers: { replicas: 2 } });
    const ready = await world.untilReady(made);
    const { name } = made.metadata;
    expect(reasonOf(ready)).toBeUndefined();
    const [first, second] = [placed(made, 0), placed(made, 1)];
    first.isDeaf = true;
    second.missingMark = "lost1";
    const lossRequests = () => [...first.requests, ...second.requests].filter((one) => one.includes("accept-data-loss"));

    await world.change(made, { acceptDataLoss: "lost1" });
    const accepted = await world.until(name, (one) => reasonOf(one) === "Accepted");
    expect(conditionOf(accepted, CONDITION)).toMatchObject({ status: "True", message: expect.stringContaining("lost1") });
    expect(accepted.status?.acceptedDataLoss).toMatchObject({ mark: "lost1" });
    expect(lossRequests()).toContain("POST /accept-data-loss?mark=lost1");
    await eventually(async () => (await eventsOf(world, made, "DataLossAccepted")).length > 0);
    const [event, ...more] = await eventsOf(world, made, "DataLossAccepted");
    expect([event, more]).toEqual([expect.stringContaining("lost1"), []]);

    // Later passes, and other changes, send it to no worker again.
    const before = lossRequests().length;
    await world.change(made, { deletionProtection: false });
    await world.until(
      name,
      (one) => one?.status?.observedGeneration === one?.metadata.generation && reasonOf(one) === "Accepted",
    );
    expect(lossRequests().length).toBe(before);

    second.missingMark = "lost2";
    await world.change(made, { acceptDataLoss: "lost2" });
    const again = await world.until(name, (one) => one?.status?.acceptedDataLoss?.mark === "lost2");
    expect(again.status?.conditions?.filter(({ type }) => type === CONDITION).length).toBe(1);
    await world.change(made, { acceptDataLoss: null });
    await world.until(name, (one) => one !== undefined && reasonOf(one) === undefined);
  },
  TEST_MS,
);

test(
  "a mark that is not the one that is missing is refused, which the condition and an event report, and workers stay ready",
  async () => {
    const placed = await workers.place(world.kubelet, {});
    const made = await world.create({ workers: { replicas: 1 } });
    await world.untilReady(made);
    placed(made, 0).missingMark = "right";
    await world.change(made, { acceptDataLoss: "wrong" });
    const refused = await world.until(made.metadata.name, (one) => reasonOf(one) === "DataLossRefused");
    expect(conditionOf(refused, CONDITION)).toMatchObject({ status: "False", message: "the mark is right" });
    expect(conditionOf(refused, "Ready")?.status).toBe("True");
    expect(refused.status?.acceptedDataLoss).toBeUndefined();
    await eventually(async () => (await eventsOf(world, made, "DataLossRefused")).length > 0);
    await expect(world.change(made, { acceptDataLoss: "no mark" })).rejects.toThrow(/acceptDataLoss/);
  },
  TEST_MS,
);
