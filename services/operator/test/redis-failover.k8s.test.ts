/**
 * The record of a promoted Redis, with a real API server: what leads runtimes to the primary, and what outlives a mistake. Pods have no
 * processes here; what becomes of the data is in `redis-failover.redis.test.ts`.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { eventually } from "./eventually.js";
import { conditionOf, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const SINCE = "2026-01-01T00:00:00Z";

let world: World;

beforeAll(async () => {
  world = await World.start();
  world.startOperator();
}, FIRST_MS);
afterAll(() => world?.[Symbol.asyncDispose](), TEST_MS);

async function selectedPod(namespace: string): Promise<string | undefined> {
  const service = await world.client.get<KubeObject>(resources.services, "redis-primary", namespace);
  const { selector } = service["spec"] as { readonly selector: Readonly<Record<string, string>> };
  return selector["statefulset.kubernetes.io/pod-name"];
}

const current = ({ metadata: { name } }: EnvironmentResource) =>
  world.client.get<EnvironmentResource>(resources.environments, name);

/** Causes a pass: the ConfigMap is read in each. */
async function touch(made: EnvironmentResource): Promise<void> {
  const { spec } = await current(made);
  await world.change(made, { deletionProtection: !spec.deletionProtection });
}

test(
  "runtimes are led to the pod of the record, which the status copies and a deleted ConfigMap gets back",
  async () => {
    const made = await world.create({ redis: { bundled: { mode: "replicated", failover: { after: "never" } } } });
    const { name } = made.metadata;
    await world.untilReady(made);
    expect(await selectedPod(name)).toBe("redis-0");
    expect(await world.client.find(resources.configMaps, "redis-primary", name)).toBeUndefined();

    const { apiVersion, kind } = resources.configMaps;
    const data = { primary: "redis-2", promotions: "1", since: SINCE };
    await world.client.create({ apiVersion, kind, metadata: { name: "redis-primary", namespace: name }, data });
    await touch(made);
    await eventually(async () => (await selectedPod(name)) === "redis-2");
    await eventually(async () => conditionOf(await current(made), "RedisPromoted")?.status === "True");
    expect((await current(made)).status?.data?.redisPrimary).toEqual({ pod: "redis-2", promotions: 1, since: SINCE });

    await world.client.delete(resources.configMaps, "redis-primary", name);
    await touch(made);
    const record = () => world.client.find<KubeObject>(resources.configMaps, "redis-primary", name);
    await eventually(async () => (await record()) !== undefined);
    expect((await record())?.["data"]).toEqual(data);
    expect((await record())?.metadata.ownerReferences).toBeUndefined();
    expect(await selectedPod(name)).toBe("redis-2");
  },
  TEST_MS,
);
