/** Another release is rolled out to one worker after the other, and stops where it fails; foreign changes of our objects are reverted. */
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { Metrics } from "@perdure/telemetry";
import { eventsOf, eventually } from "./eventually.js";
import { conditionOf, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

let world: World;
const metrics = new Metrics();

beforeAll(async () => {
  world = await World.start();
  world.startOperator({}, metrics);
}, FIRST_MS);
afterEach(() => world.kubelet.breakPods(() => false));
afterAll(() => world[Symbol.asyncDispose](), TEST_MS);

interface PodSpec {
  readonly containers: readonly { readonly image: string }[];
}

const imageOf = (pod: KubeObject | undefined): string => (pod?.["spec"] as PodSpec | undefined)?.containers[0]?.image ?? "";

/** Releases of an environment's workers, by ordinal. */
async function releases({ metadata }: EnvironmentResource): Promise<readonly string[]> {
  const versions: string[] = [];
  for (const pod of world.kubelet.pods(metadata.name)) {
    const ordinal = /^worker-(\d+)$/.exec(pod.metadata.name)?.[1];
    if (ordinal !== undefined) versions[Number(ordinal)] = imageOf(pod).split(":").at(-1) as string;
  }
  return versions;
}

async function partitionOf({ metadata }: EnvironmentResource): Promise<number> {
  const set = await world.client.get(resources.statefulSets, "worker", metadata.name);
  return (set["spec"] as { readonly updateStrategy: { readonly rollingUpdate: { readonly partition: number } } }).updateStrategy
    .rollingUpdate.partition;
}

const uidsOf = ({ metadata }: EnvironmentResource): readonly string[] =>
  world.kubelet.pods(metadata.name).map((pod) => pod.metadata.uid ?? "");

test(
  "a release is rolled out from the highest ordinal down, halts at a worker that fails, and continues when it is fixed",
  async () => {
    const made = await world.create({ workers: { replicas: 3 } });
    await world.untilReady(made);
    const broken = (pod: KubeObject): boolean =>
      pod.metadata.namespace === made.metadata.name &&
      imageOf(pod).endsWith("perdure-worker:1.5.0") &&
      /-1$/.test(pod.metadata.name);
    world.kubelet.breakPods(broken);
    await world.change(made, { version: "1.5.0" });
    const halted = await world.until(made.metadata.name, (one) => conditionOf(one, "WorkersReady")?.reason === "CrashLoop");
    expect(conditionOf(halted, "WorkersReady")?.message).toMatch(/^worker-1 of 1\.5\.0: CrashLoopBackOff .*workers below 1 stay/);
    expect(conditionOf(halted, "Ready")).toMatchObject({ status: "False", reason: "CrashLoop" });
    expect(halted.status?.version).toMatchObject({ current: "1.4.0", target: "1.5.0" });
    expect(await partitionOf(made)).toBe(1);
    expect(await releases(made)).toEqual(["1.4.0", "1.5.0", "1.5.0"]);
    await eventually(async () => (await eventsOf(world, made, "CrashLoop")).length === 1);

    world.kubelet.breakPods(() => false);
    await world.until(made.metadata.name, (one) => one?.status?.version?.current === "1.5.0");
    expect(await releases(made)).toEqual(["1.5.0", "1.5.0", "1.5.0"]);
    expect(await partitionOf(made)).toBe(0);
  },
  TEST_MS,
);

test(
  "a failed release is rolled back wherever it was rolled out; minor versions are not skipped, and no rollback goes back two",
  async () => {
    const made = await world.create({ workers: { replicas: 2 } });
    await world.untilReady(made);
    const [untouched] = world.kubelet.pods(made.metadata.name).filter(({ metadata }) => metadata.name === "worker-0");
    world.kubelet.breakPods((pod) => imageOf(pod).endsWith("perdure-worker:1.5.0"));
    await world.change(made, { version: "1.5.0" });
    await world.until(made.metadata.name, (one) => conditionOf(one, "WorkersReady")?.reason === "CrashLoop");
    expect(await releases(made)).toEqual(["1.4.0", "1.5.0"]);
    await world.change(made, { version: "1.4.0" });
    await world.until(made.metadata.name, (one) => conditionOf(one, "WorkersReady")?.status === "True");
    await world.untilReady(made);
    expect(await releases(made)).toEqual(["1.4.0", "1.4.0"]);
    const [same] = world.kubelet.pods(made.metadata.name).filter(({ metadata }) => metadata.name === "worker-0");
    expect(same?.metadata.uid).toBe(untouched?.metadata.uid);

    for (const [version, reason] of [
      ["1.6.0", "VersionSkip"],
      ["1.2.0", "Downgrade"],
    ]) {
      await world.change(made, { version });
      const refused = await world.until(made.metadata.name, (one) => conditionOf(one, "Accepted")?.reason === reason);
      expect(refused.status?.version).toMatchObject({ current: "1.4.0" });
      await eventually(async () => (await eventsOf(world, made, reason as string)).length === 1);
      expect(await releases(made)).toEqual(["1.4.0", "1.4.0"]);
    }
  },
  TEST_MS,
);

test(
  "an operator that begins anew replaces no pod of what is as it should be",
  async () => {
    const made = await world.create({ workers: { replicas: 2 } });
    await world.untilReady(made);
    await eventually(async () => (await partitionOf(made)) === 0);
    const before = uidsOf(made);
    const set = await world.client.get(resources.statefulSets, "worker", made.metadata.name);
    const reconcileCount = (text: string): number =>
      Number(/reconciles_total\{kind="Environment",result="\w+"\} (\d+)/.exec(text)?.[1] ?? 0);
    const others = new Metrics();
    await world.endOperators();
    world.startOperator({}, others);
    await eventually(async () => reconcileCount(others.text()) > 0);
    await world.change(made, { limits: { actionsPerMonth: 1_000_000 } }); // A change that no pod receives.
    await world.until(made.metadata.name, (one) => one?.status?.observedGeneration === one?.metadata.generation);
    expect(uidsOf(made)).toEqual(before);
    const after = await world.client.get(resources.statefulSets, "worker", made.metadata.name);
    expect(after["spec"]).toEqual(set["spec"]);
  },
  TEST_MS,
);

test(
  "a change of our objects is reverted once each time; repeated changes are reported, and given way to",
  async () => {
    const made = await world.create();
    await world.untilReady(made);
    const namespace = made.metadata.name;
    const image = async (): Promise<string> => {
      const set = await world.client.get(resources.statefulSets, "worker", namespace);
      return ((set["spec"] as { readonly template: { readonly spec: PodSpec } }).template.spec.containers[0] as { image: string })
        .image;
    };
    const ours = await image();
    const path = `/apis/apps/v1/namespaces/${namespace}/statefulsets/worker`;
    const meddle = async (theirs: string): Promise<void> => {
      const body = { spec: { template: { spec: { containers: [{ name: "worker", image: theirs }] } } } };
      const contentType = "application/strategic-merge-patch+json";
      expect((await world.kubernetes.request({ method: "PATCH", path, contentType, body })).status).toBe(200);
    };
    for (const time of [1, 2, 3]) {
      await meddle(`theirs:${time}`);
      await eventually(async () => (await image()) === ours);
    }
    await eventually(async () => (await eventsOf(world, made, "DriftFight")).length === 1);
    await meddle("theirs:4");
    const annotation = `test/looked-${Math.random()}`;
    const body = { metadata: { labels: { checked: "again" }, annotations: { [annotation]: "1" } } };
    await world.kubernetes.request({ method: "PATCH", path: `/apis/perdure.dev/v1alpha1/environments/${namespace}`, body });
    await world.change(made, { limits: { actionsPerMonth: 5 } });
    await world.until(namespace, (one) => one?.status?.observedGeneration === one?.metadata.generation);
    expect(await image()).toBe("theirs:4");
  },
  TEST_MS,
);
