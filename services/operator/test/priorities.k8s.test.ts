/** The order of reconciles when more objects wait than an operator may process at one time. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { eventually } from "./eventually.js";
import { World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;
const CROWD = 24;

let world: World;

beforeAll(async () => {
  world = await World.start();
  // So slow that the crowd takes many seconds, whatever the machine.
  world.startOperator({ keysPerSecond: 2, keysAtOnce: 4 });
}, FIRST_MS);
afterAll(() => world[Symbol.asyncDispose](), TEST_MS);

/** How many environments have been reconciled at least once. */
async function reconciled(names: ReadonlySet<string>): Promise<number> {
  const { items } = await world.client.list<KubeObject & Pick<EnvironmentResource, "status">>(resources.environments);
  return items.filter(({ metadata, status }) => names.has(metadata.name) && status?.observedGeneration !== undefined).length;
}

test(
  "a change of an environment and a deletion do not wait for a crowd of new environments",
  async () => {
    const [changed, deleted] = [await world.create({ workers: { partitions: 4, replicas: 1 } }), await world.create()];
    for (const one of [changed, deleted]) await world.untilReady(one);
    const crowd = new Set<string>();
    for (let n = 0; n < CROWD; n++) crowd.add((await world.create()).metadata.name);
    await world.change(changed, { workers: { replicas: 2 } });
    await world.delete(deleted);
    const replicas = async (): Promise<number> => {
      const set = await world.client.get(resources.statefulSets, "worker", changed.metadata.name);
      return (set["spec"] as { readonly replicas: number }).replicas;
    };
    await eventually(async () => (await replicas()) === 2);
    expect(await reconciled(crowd)).toBeLessThan(CROWD / 2);
    await world.until(deleted.metadata.name, (one) => one === undefined || one.status?.phase === "Deleting");
    expect(await reconciled(crowd)).toBeLessThan(CROWD / 2);
    // And the crowd has its turn.
    await eventually(async () => (await reconciled(crowd)) === CROWD);
  },
  TEST_MS,
);
