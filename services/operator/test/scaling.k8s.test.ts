/** Scaling of workers: no worker is removed before it was drained, and an autoscaler is not overruled. */
import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { eventsOf, eventually } from "./eventually.js";
import { FakeWorkers } from "./fake-workers.js";
import { conditionOf, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

let world: World;
let workers: FakeWorkers;

beforeAll(async () => {
  world = await World.start();
  workers = new FakeWorkers();
  world.startOperator();
}, FIRST_MS);
afterEach(() => world.kubelet.holdEnds(false));
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await workers[Symbol.asyncDispose]();
}, TEST_MS);

interface SetSpec {
  readonly replicas: number;
  readonly updateStrategy: { readonly rollingUpdate: { readonly partition: number } };
}

const setOf = async ({ metadata }: EnvironmentResource): Promise<KubeObject & { readonly spec: SetSpec }> =>
  world.client.get(resources.statefulSets, "worker", metadata.name);
const replicasOf = async (environment: EnvironmentResource): Promise<number> => (await setOf(environment)).spec.replicas;

test(
  "more come at once; fewer go one by one, each after it has given its partitions away",
  async () => {
    const placed = await workers.place(world.kubelet, { partitions: 8 });
    const made = await world.create({ workers: { replicas: 1 } });
    await world.untilReady(made);
    await world.change(made, { workers: { replicas: 3 } });
    const grown = await world.until(made.metadata.name, (one) => one?.status?.workers?.summary === "3/3");
    expect(grown.status?.workers?.drainingOrdinal).toBeUndefined();
    expect(await world.client.find(resources.disruptionBudgets, "worker", made.metadata.name)).toBeDefined();

    await world.change(made, { workers: { replicas: 1 } });
    for (const ordinal of [2, 1]) {
      const worker = placed(made, ordinal);
      await world.until(made.metadata.name, (one) => one?.status?.workers?.drainingOrdinal === ordinal);
      await eventually(async () => worker.requests.filter((one) => one === "POST /drain").length >= 2);
      // Drain was requested more than once, and the worker is still there: it leads partitions.
      expect(await replicasOf(made)).toBe(ordinal + 1);
      expect(placed(made, ordinal - 1).requests).not.toContain("POST /drain");
      worker.report = { ...worker.report, partitions: 0 };
      await eventually(async () => (await replicasOf(made)) === ordinal);
    }
    const small = await world.until(made.metadata.name, (one) => one?.status?.workers?.summary === "1/1");
    await eventually(
      async () => (await world.client.find(resources.disruptionBudgets, "worker", made.metadata.name)) === undefined,
    );
    expect(placed(made, 0).requests).toEqual([]);
    expect(await eventsOf(world, small, "DrainTimedOut")).toEqual([]);
  },
  TEST_MS,
);

test(
  "without workers it is not ready, and reports why; several of them have two front pods with a budget",
  async () => {
    const placed = await workers.place(world.kubelet, {});
    const made = await world.create({ workers: { replicas: 1 } });
    const { name } = made.metadata;
    await world.untilReady(made);
    expect(await world.client.find(resources.disruptionBudgets, "front", name)).toBeUndefined();
    await world.change(made, { workers: { replicas: 0 } });
    const none = await world.until(name, (one) => conditionOf(one, "Ready")?.reason === "NoWorkers");
    expect(conditionOf(none, "Ready")?.status).toBe("False");
    await eventually(async () => (await eventsOf(world, made, "NoWorkers")).length === 1);
    // Suspended it is to have none.
    await world.change(made, { suspended: true });
    await world.until(name, (one) => one?.status?.phase === "Suspended");

    await world.change(made, { suspended: false, workers: { replicas: 2 } });
    await world.untilReady(made);
    expect(placed(made, 1).requests).toBeDefined();
    expect(await world.client.find(resources.disruptionBudgets, "front", name)).toBeDefined();
    const front = await world.client.get(resources.deployments, "front", name);
    expect(front["spec"]).toMatchObject({ replicas: 2 });
  },
  TEST_MS,
);

test(
  "a worker that does not finish draining is removed after its drain time, with an event",
  async () => {
    const placed = await workers.place(world.kubelet, { partitions: 12 });
    const made = await world.create({ workers: { replicas: 2, drainSeconds: 3 } });
    await world.untilReady(made);
    const startedAt = performance.now();
    await world.change(made, { workers: { replicas: 1 } });
    await eventually(async () => (await replicasOf(made)) === 1);
    expect(performance.now() - startedAt).toBeGreaterThan(2_000);
    expect(placed(made, 1).requests).toContain("POST /drain");
    await eventually(async () => (await eventsOf(world, made, "DrainTimedOut")).length > 0);
    expect(await eventsOf(world, made, "DrainTimedOut")).toEqual([
      "worker-1 did not drain within 3 s and is stopped with 12 partitions",
    ]);
  },
  TEST_MS,
);

test(
  "a worker that is needed again stays, and its draining is cancelled",
  async () => {
    const placed = await workers.place(world.kubelet, { partitions: 12 });
    const made = await world.create({ workers: { replicas: 2 } });
    await world.untilReady(made);
    await world.change(made, { workers: { replicas: 1 } });
    await eventually(async () => placed(made, 1).requests.includes("POST /drain"));
    await world.change(made, { workers: { replicas: 2 } });
    await eventually(async () => placed(made, 1).requests.includes("DELETE /drain"));
    await world.until(made.metadata.name, (one) => one?.status?.workers?.drainingOrdinal === undefined);
    expect(await replicasOf(made)).toBe(2);
    expect(placed(made, 1).report.draining).toBe(false);
  },
  TEST_MS,
);

test(
  "while an autoscaler sets the number of workers nothing else does, and without it the spec does again",
  async () => {
    world.kubelet.placePods(async () => undefined);
    const made = await world.create({ workers: { replicas: 2 } });
    await world.untilReady(made);
    // A new operator has the set from a list, and not from a change.
    await world.endOperators();
    world.startOperator();
    await world.change(made, { workers: { autoscaling: { min: 2, max: 5 } } });
    await eventually(async () => (await world.client.find(resources.autoscalers, "worker", made.metadata.name)) !== undefined);
    const set = await setOf(made);
    const { apiVersion, kind } = set;
    const scaled = { apiVersion, kind, metadata: { name: "worker", namespace: made.metadata.name }, spec: { replicas: 4 } };
    await world.client.apply(scaled, { manager: "autoscaler", force: true });
    await world.until(made.metadata.name, (one) => one?.status?.workers?.summary === "4/4");
    // A change of the template goes by, and the number stays.
    await world.change(made, { workers: { podLabels: { theirs: "yes" } } });
    await eventually(async () => JSON.stringify(await setOf(made)).includes('"theirs":"yes"'));
    expect(await replicasOf(made)).toBe(4);
    await world.change(made, { workers: { autoscaling: null } });
    await eventually(async () => (await replicasOf(made)) === 2);
    await eventually(async () => (await world.client.find(resources.autoscalers, "worker", made.metadata.name)) === undefined);
  },
  TEST_MS,
);

test(
  "where KEDA is not installed the spec sets the number, and a condition reports why; where it is, KEDA does, until it is switched off",
  async () => {
    const made = await world.create({ workers: { replicas: 2, autoscaling: { min: 1, max: 5, engine: "keda" } } });
    const without = await world.untilReady(made);
    expect(conditionOf(without, "AutoscalerUnavailable")).toMatchObject({ status: "True", message: "KEDA is not installed" });
    expect(without.status?.workers?.summary).toBe("2/2");

    const definition = JSON.parse(readFileSync(new URL("./testdata/scaled-objects.json", import.meta.url), "utf8")) as KubeObject;
    await world.client.apply(definition, { manager: "test", force: true });
    const find = (): Promise<KubeObject | undefined> =>
      world.client.find(resources.scaledObjects, "worker", made.metadata.name).catch(() => undefined);
    let polls = 0;
    await eventually(async () => {
      await world.change(made, { limits: { actionsPerMonth: ++polls } });
      return (await find()) !== undefined;
    });
    const object = await find();
    expect(object?.metadata.ownerReferences?.[0]?.uid).toBe(made.metadata.uid);
    const scaled = await world.until(made.metadata.name, (one) => one?.status?.workers?.autoscaler === "keda");
    expect(conditionOf(scaled, "AutoscalerUnavailable")).toBeUndefined();
    expect(await replicasOf(made)).toBe(2);
    await world.change(made, { suspended: true });
    await eventually(async () => (await find()) === undefined);
    await world.change(made, { suspended: false });
    await eventually(async () => (await find()) !== undefined);
    await world.change(made, { workers: { autoscaling: null } });
    await eventually(async () => (await find()) === undefined);

    // An autoscaler would bring workers back while they are to end.
    await world.change(made, { workers: { autoscaling: { min: 1, max: 5, engine: "keda" } } });
    await eventually(async () => (await find()) !== undefined);
    world.kubelet.holdEnds(true);
    await world.delete(made);
    await eventually(async () => (await find()) === undefined);
    expect((await world.client.get(resources.environments, made.metadata.name)).metadata.deletionTimestamp).toBeDefined();
    world.kubelet.holdEnds(false);
    await world.until(made.metadata.name, (one) => one === undefined);
  },
  TEST_MS,
);
