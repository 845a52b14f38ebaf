/** Another URL of the cell's database replaces the pods of a few environments at a time, and one that does not work stops there. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { cell } from "./cell.js";
import { eventually } from "./eventually.js";
import { conditionOf, OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 180_000;

let world: World;

beforeAll(async () => {
  world = await World.start();
  world.startOperator({ cell: { ...cell, releases: { ...cell.releases, atOnce: 1 } } });
}, FIRST_MS);
afterAll(() => world?.[Symbol.asyncDispose](), TEST_MS);

async function urlOf({ metadata }: EnvironmentResource): Promise<string> {
  const { data = {} } = (await world.client.get(resources.secrets, "postgres", metadata.name)) as KubeObject & {
    readonly data?: Readonly<Record<string, string>>;
  };
  return Buffer.from(data["url"] ?? "", "base64").toString();
}

const hostOf = async (environment: EnvironmentResource): Promise<string> => new URL(await urlOf(environment)).host;

const secretsHashOf = ({ metadata }: KubeObject): string => metadata.annotations?.["perdure.dev/secrets-hash"] ?? "";
const isReady = (environment: EnvironmentResource | undefined): boolean => conditionOf(environment, "Ready")?.status === "True";
const isPending = (environment: EnvironmentResource | undefined): boolean =>
  conditionOf(environment, "RotationPending") !== undefined;

test(
  "one takes the new URL, the other keeps its pods until that one is ready",
  async () => {
    const made = [await world.create(), await world.create()];
    for (const one of made) await world.untilReady(one);
    const before = new Map(await Promise.all(made.map(async (one) => [one.metadata.name, await urlOf(one)] as const)));
    const oldHashes = new Set(made.flatMap(({ metadata }) => world.kubelet.pods(metadata.name).map(secretsHashOf)));
    world.kubelet.breakPods((pod) => !oldHashes.has(secretsHashOf(pod)));

    const path = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/secrets/postgres`;
    const body = { stringData: { url: "postgres://perdure@rotated.example.org/perdure" } };
    expect(await world.kubernetes.request({ method: "PATCH", path, body })).toMatchObject({ status: 200 });
    const pending = await Promise.any(made.map(({ metadata }) => world.until(metadata.name, isPending)));
    const [first, second] = made.toSorted((a) => (a.metadata.name === pending.metadata.name ? 1 : -1)) as [
      EnvironmentResource,
      EnvironmentResource,
    ];
    await world.until(first.metadata.name, (one) => conditionOf(one, "WorkersReady")?.reason === "CrashLoop");
    expect([await hostOf(first), await urlOf(second)]).toEqual(["rotated.example.org", before.get(second.metadata.name)]);
    const waiting = await world.client.get<EnvironmentResource>(resources.environments, second.metadata.name);
    expect([isReady(waiting), isPending(waiting)]).toEqual([true, true]);

    world.kubelet.breakPods(() => false);
    await world.untilReady(first);
    await world.change(second, { limits: { concurrentInvocations: 7 } }); // A change triggers a pass before the next check.
    await eventually(async () => (await hostOf(second)) === "rotated.example.org");
    await world.until(second.metadata.name, (one) => isReady(one) && !isPending(one));
  },
  TEST_MS,
);
