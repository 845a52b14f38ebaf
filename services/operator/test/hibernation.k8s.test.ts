/** An idle environment hibernates with all its data, and wakes in time, unchanged. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { Metrics } from "@perdure/telemetry";
import { eventsOf, eventually } from "./eventually.js";
import { FakeWorkers } from "./fake-workers.js";
import { shiftedClock } from "./shifted-clock.js";
import { conditionOf, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const HOUR_MS = 3_600_000;

let world: World;
let workers: FakeWorkers;
const clock = shiftedClock();
const metrics = new Metrics();

beforeAll(async () => {
  world = await World.start();
  workers = new FakeWorkers();
  world.startOperator({}, metrics, { clock });
}, FIRST_MS);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await workers[Symbol.asyncDispose]();
}, TEST_MS);

/** Triggers a pass with a change that the operator does not act on. */
async function touch({ metadata }: EnvironmentResource): Promise<void> {
  await annotate(metadata.name, "test/touched", String(performance.now()));
}

async function annotate(name: string, annotation: string, value: string): Promise<void> {
  const body = { metadata: { annotations: { [annotation]: value } } };
  await world.kubernetes.request({ method: "PATCH", path: `/apis/perdure.dev/v1alpha1/environments/${name}`, body });
}

/** Uids and claims that must be the same afterwards. */
async function lasting(namespace: string) {
  const key = await world.client.get(resources.secrets, "signing-key", namespace);
  const claim = await world.client.get(resources.volumeClaims, "data-redis-0", namespace);
  return { key: key["data"], claim: claim.metadata.uid };
}

const replicasOf = async (
  resource: typeof resources.statefulSets | typeof resources.deployments,
  name: string,
  namespace: string,
) => ((await world.client.get(resource, name, namespace))["spec"] as { readonly replicas: number }).replicas;

test(
  "suspended and resumed it has the same key, the same volume and as many partitions",
  async () => {
    world.kubelet.placePods(async () => undefined);
    const made = await world.create();
    const { name } = made.metadata;
    const { status } = await world.untilReady(made);
    const before = await lasting(name);
    await world.change(made, { suspended: true });
    await world.until(name, (one) => one?.status?.phase === "Suspended");
    await eventually(async () => world.kubelet.pods(name).length === 0);
    expect(await lasting(name)).toEqual(before);
    expect(await world.client.find(resources.disruptionBudgets, "worker", name)).toBeUndefined();
    await world.change(made, { suspended: false });
    const awake = await world.until(name, (one) => one?.status?.phase === "Running");
    expect(await lasting(name)).toEqual(before);
    expect(awake.status?.signingKey).toEqual(status?.signingKey);
    const config = (await world.client.get(resources.configMaps, "runtime-config", name))["data"];
    expect(config).toMatchObject({ PERDURE_WORKER__NUM_PARTITIONS: "24" });
    expect(awake.spec.workers.partitions).toBe(24);
  },
  TEST_MS,
);

test(
  "an idle environment hibernates when its front is closed, reports when the first timer is due, and is awake half a minute before",
  async () => {
    const dueAtMs = Math.floor((clock.nowMs() + HOUR_MS) / 1000) * 1000;
    await workers.place(world.kubelet, { partitions: 24, timerDueAtMs: dueAtMs });
    const made = await world.create({ hibernation: { afterIdle: "10m" } });
    const { name } = made.metadata;
    const asleep = await world.until(name, (one) => one?.status?.phase === "Hibernated");
    expect(asleep.status?.nextWakeTime).toBe(new Date(dueAtMs).toISOString().replace(".000Z", "Z"));
    expect(conditionOf(asleep, "Ready")).toMatchObject({ status: "False", reason: "Hibernated" });
    await eventually(async () => world.kubelet.pods(name).length === 0);
    expect(await world.client.find(resources.volumeClaims, "data-redis-0", name)).toBeDefined();

    clock.forwardTo(dueAtMs - 120_000);
    await touch(made);
    await eventually(async () => (await eventsOf(world, made, "Hibernated")).length === 1);
    expect(await replicasOf(resources.statefulSets, "worker", name)).toBe(0);
    const woken = world.until(name, (one) => one?.status?.hibernation?.state === "Waking");
    clock.forwardTo(dueAtMs - 29_000);
    await touch(made);
    expect(Date.parse((await woken).status?.hibernation?.since ?? "")).toBeLessThan(dueAtMs);
    const awake = await world.untilReady(made);
    expect(awake.status?.nextWakeTime).toBeUndefined();
    expect(await eventsOf(world, made, "Waking")).toHaveLength(1);
    await eventually(async () => /time_to_ready_seconds_count\{operation="resume"\} [1-9]/.test(metrics.text()));
  },
  TEST_MS,
);

test(
  "woken by an annotation it wakes once, and by any change of its spec",
  async () => {
    const placed = await workers.place(world.kubelet, { partitions: 24 });
    const made = await world.create({ hibernation: { afterIdle: "5m" } });
    const { name } = made.metadata;
    await world.until(name, (one) => one?.status?.phase === "Hibernated");
    // An environment that wakes has work: workers report that they are busy for a while.
    await workers.place(world.kubelet, { partitions: 24, idleSeconds: 0 });
    await annotate(name, "perdure.dev/wake", "2026-01-01T00:00:00Z");
    await world.untilReady(made);

    const quiet = await workers.place(world.kubelet, { partitions: 24 });
    for (const pod of world.kubelet.pods(name)) await world.client.delete(resources.pods, pod.metadata.name, name);
    await eventually(async () => {
      await touch(made);
      return (
        (await world.client.get<EnvironmentResource & KubeObject>(resources.environments, name)).status?.phase === "Hibernated"
      );
    });
    expect(quiet(made, 0).requests).toContain("GET /drain");
    expect(placed(made, 0).requests).toContain("GET /drain");
    await world.change(made, { limits: { requestsPerSecond: 5 } });
    await world.until(
      name,
      (one) => one?.status?.hibernation?.state === "Waking" || conditionOf(one, "Ready")?.status === "True",
    );
  },
  TEST_MS,
);

test(
  "a request that arrives while the front closes keeps it awake, and so do topics and workers that do not respond",
  async () => {
    const placed = await workers.place(world.kubelet, { partitions: 24 });
    const made = await world.create({ hibernation: { afterIdle: "5m" } });
    const { name } = made.metadata;
    world.kubelet.holdEnds(true);
    await world.until(name, (one) => one?.status?.hibernation?.state === "Closing");
    await eventually(async () => (await replicasOf(resources.deployments, "front", name)) === 0);
    placed(made, 0).report = { ...placed(made, 0).report, inFlight: true, idleSeconds: 0 };
    world.kubelet.holdEnds(false);
    await world.until(name, (one) => one?.status?.hibernation === undefined);
    const awake = await world.untilReady(made);
    expect(await replicasOf(resources.statefulSets, "worker", name)).toBe(1);
    expect(awake.status?.phase).toBe("Running");

    await workers.place(world.kubelet, { partitions: 24, subscriptions: 1 });
    const reader = await world.create({ hibernation: { afterIdle: "5m" } });
    await world.untilReady(reader);
    await touch(reader);
    expect(
      (await world.client.get<EnvironmentResource & KubeObject>(resources.environments, reader.metadata.name)).status
        ?.hibernation,
    ).toBe(undefined);
  },
  TEST_MS,
);
