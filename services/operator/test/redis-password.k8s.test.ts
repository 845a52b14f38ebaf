/** The password of Redis that vanishes is restored as it was, and no pod is replaced; a new password is made only on request. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { eventsOf, eventually } from "./eventually.js";
import { conditionOf, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const ROTATE = "perdure.dev/rotate-redis-password";

let world: World;

beforeAll(async () => {
  world = await World.start();
  world.startOperator();
}, FIRST_MS);
afterAll(() => world?.[Symbol.asyncDispose](), TEST_MS);

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

async function passwordOf(namespace: string): Promise<string | undefined> {
  const secret = await world.client.find<SecretObject>(resources.secrets, "redis-auth", namespace);
  return secret?.data?.["password"];
}

/** The copy is in the Secret of the signing key. */
async function copyOf(namespace: string): Promise<string | undefined> {
  const secret = await world.client.find<SecretObject>(resources.secrets, "signing-key", namespace);
  return secret?.data?.["redis-auth.password"];
}

async function removeCopy(namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/secrets/signing-key`;
  const body = { data: { "redis-auth.password": null, "redis-auth.url": null } };
  expect(await world.kubernetes.request({ method: "PATCH", path, body })).toMatchObject({ status: 200 });
}

/** Pods are replaced when one of these changes. */
async function templatesOf(namespace: string): Promise<string> {
  const sets = ["redis", "worker"].map((name) => world.client.get<KubeObject>(resources.statefulSets, name, namespace));
  return JSON.stringify((await Promise.all(sets)).map((set) => (set["spec"] as { readonly template: unknown }).template));
}

const remove = (namespace: string, secret: string) => world.client.delete(resources.secrets, secret, namespace);
/** Secrets of environments are not watched: they are read again when the environment changes. This field reaches no pod. */
async function touchSpec({ metadata }: EnvironmentResource): Promise<void> {
  const { spec } = await world.client.get<EnvironmentResource>(resources.environments, metadata.name);
  await world.change({ metadata } as EnvironmentResource, { deletionProtection: !spec.deletionProtection });
}
const isObserved = (one: EnvironmentResource | undefined): boolean =>
  one?.status?.observedGeneration === one?.metadata.generation;

async function annotate({ metadata }: EnvironmentResource, value: string): Promise<void> {
  const path = `/apis/perdure.dev/v1alpha1/environments/${metadata.name}`;
  const body = { metadata: { annotations: { [ROTATE]: value } } };
  expect(await world.kubernetes.request({ method: "PATCH", path, body })).toMatchObject({ status: 200 });
}

test(
  "a Secret that is deleted or changed by hand is restored with the previous password, with an event, and no pod is replaced",
  async () => {
    const made = await world.create();
    const { name } = made.metadata;
    const ready = await world.untilReady(made);
    const password = await passwordOf(name);
    expect(await copyOf(name)).toBe(password);
    const templates = await templatesOf(name);
    const path = `/api/v1/namespaces/${name}/secrets/redis-auth`;
    const change = () => world.kubernetes.request({ method: "PATCH", path, body: { data: { password: "YW5vdGhlcg==" } } });
    for (const spoil of [() => remove(name, "redis-auth"), change]) {
      await spoil();
      expect(await passwordOf(name)).not.toBe(password);
      await touchSpec(made);
      await eventually(async () => (await passwordOf(name)) === password);
    }
    const restored = await world.until(name, isObserved);
    await eventually(async () => (await eventsOf(world, made, "RedisPasswordRestored")).length > 0);
    expect(conditionOf(restored, "Ready")?.status).toBe("True");
    expect(restored.status?.redisAuth).toEqual(ready.status?.redisAuth);
    expect(await templatesOf(name)).toBe(templates);
  },
  TEST_MS,
);

test(
  "an environment of an earlier operator, whose copy is in a Secret of its own, is restored from that one and gets a copy beside its signing key",
  async () => {
    const made = await world.create();
    const { name } = made.metadata;
    await world.untilReady(made);
    const password = await passwordOf(name);
    const { data } = await world.client.get<SecretObject>(resources.secrets, "redis-auth", name);
    const metadata = { name: "redis-auth-copy", namespace: name };
    await world.client.create({ apiVersion: "v1", kind: "Secret", metadata, data } as KubeObject);
    await removeCopy(name);
    await remove(name, "redis-auth");
    await touchSpec(made);
    await eventually(async () => (await passwordOf(name)) === password);
    await eventually(async () => (await copyOf(name)) === password);
  },
  TEST_MS,
);

test(
  "when the copy is missing as well the environment reports RedisPasswordLost and nothing is replaced, until the Secret is restored or a new password is requested",
  async () => {
    const made = await world.create();
    const { name } = made.metadata;
    await world.untilReady(made);
    const old = await world.client.get<SecretObject>(resources.secrets, "redis-auth", name);
    const templates = await templatesOf(name);
    const lose = async (): Promise<void> => {
      await remove(name, "redis-auth");
      await removeCopy(name);
      await touchSpec(made);
      const lost = await world.until(name, (one) => conditionOf(one, "Accepted")?.reason === "RedisPasswordLost");
      expect(conditionOf(lost, "Ready")).toMatchObject({ status: "False", reason: "RedisPasswordLost" });
      expect(conditionOf(lost, "Ready")?.message).toContain(ROTATE);
    };
    await lose();
    await eventually(async () => (await eventsOf(world, made, "RedisPasswordLost")).length > 0);
    expect([await passwordOf(name), await templatesOf(name)]).toEqual([undefined, templates]);

    const metadata = { name: "redis-auth", namespace: name };
    await world.client.create({ apiVersion: "v1", kind: "Secret", metadata, data: old.data } as KubeObject);
    await world.untilReady(made);
    expect(await passwordOf(name)).toBe(old.data?.["password"]);

    await lose();
    await annotate(made, "2026-11");
    const rotated = await world.until(name, (one) => one?.status?.redisAuth?.rotation === "2026-11");
    await world.untilReady(rotated);
    const password = await passwordOf(name);
    expect(password).not.toBe(old.data?.["password"]);
    expect(await copyOf(name)).toBe(password);
    await eventually(async () => (await templatesOf(name)) !== templates);

    // The annotation stays; the Secret that goes then is not a rotation.
    await remove(name, "redis-auth");
    await touchSpec(made);
    await eventually(async () => (await passwordOf(name)) === password);
  },
  TEST_MS,
);
