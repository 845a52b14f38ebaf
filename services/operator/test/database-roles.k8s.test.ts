/** Pods of an environment have a URL of a role of their own, made in a real PostgreSQL, which goes or stays with the environment's data. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Secret, silentLogger } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { environmentRole, openPostgresMetadataStore, removeEnvironmentDatabase } from "@perdure/postgres";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { eventually } from "./eventually.js";
import { conditionOf, OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 180_000;
const GOING = { reclaimPolicy: "Delete", deletionProtection: false } as const;

let postgres: PostgresServer;
let world: World;

beforeAll(async () => {
  postgres = await startPostgres();
  world = await World.start({ postgresUrl: postgres.url });
  world.startOperator();
}, FIRST_MS);
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
}, TEST_MS);

interface Stored extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

async function secretOf({ metadata }: EnvironmentResource, name: string): Promise<Readonly<Record<string, string>> | undefined> {
  const secret = await world.client.find<Stored>(resources.secrets, name, metadata.name);
  if (secret === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
}

const urlOf = async (environment: EnvironmentResource): Promise<string> =>
  (await secretOf(environment, "postgres"))?.["url"] ?? "";
const storeOf = async (environment: EnvironmentResource, url?: string) =>
  openPostgresMetadataStore(
    { url: url ?? (await urlOf(environment)), environment: environment.spec.environmentId },
    silentLogger,
  );
const put = (value: number) => [{ kind: "put", key: "a", value, expectedVersion: undefined }] as const;

/** Whether the platform sees a schema of the environment, or refuses to read rows there. */
async function isKept({ spec }: EnvironmentResource): Promise<boolean> {
  const url = new URL(postgres.url);
  url.searchParams.set("options", `-c search_path=${environmentRole(spec.environmentId)}`);
  await using store = (await openPostgresMetadataStore({ url: url.href, environment: spec.environmentId }, silentLogger).catch(
    () => undefined,
  )) ?? { get: async () => undefined, [Symbol.asyncDispose]: async () => {} };
  return (await store.get("a")) !== undefined;
}

test(
  "T19: two environments get a role each; the pods of both read it from their own Secret, and the cell's URL is in neither namespace",
  async () => {
    const made = [await world.create(), await world.create()] as const;
    for (const one of made) await world.untilReady(one);
    const [first, second] = made;
    for (const one of made) {
      expect(conditionOf(await world.untilReady(one), "DatabaseReady")).toMatchObject({ status: "True", reason: "OwnRole" });
      expect(new URL(await urlOf(one)).username).toBe(environmentRole(one.spec.environmentId));
      const pods = world.kubelet.pods(one.metadata.name).filter(({ metadata }) => !metadata.name.startsWith("redis"));
      expect(pods.length).toBeGreaterThan(1);
      for (const pod of pods) {
        expect(JSON.stringify(pod)).toContain(`"valueFrom":{"secretKeyRef":{"name":"postgres","key":"url"}}`);
        expect(JSON.stringify(pod)).not.toContain("postgres-role");
      }
      const { items } = await world.client.list<Stored>(resources.secrets, { namespace: one.metadata.name });
      const texts = items.flatMap(({ data = {} }) => Object.values(data)).map((text) => Buffer.from(text, "base64").toString());
      expect([texts.includes(await urlOf(one)), texts.includes(postgres.url)]).toEqual([true, false]);
      await using store = await storeOf(one);
      await store.write(put(1));
    }
    expect(await urlOf(first)).not.toBe(await urlOf(second));
    await using store = await storeOf(first);
    expect(await store.list("")).toHaveLength(1);
  },
  TEST_MS,
);

test(
  "a deleted password is made anew and the pods are replaced; the data stay",
  async () => {
    const made = await world.create();
    await world.untilReady(made);
    const [url, before] = [await urlOf(made), await secretOf(made, "postgres-role")];
    {
      await using store = await storeOf(made);
      await store.write(put(7));
    }
    const path = `/api/v1/namespaces/${made.metadata.name}/secrets/postgres-role`;
    expect(await world.kubernetes.request({ method: "DELETE", path })).toMatchObject({ status: 200 });
    await world.change(made, { limits: { concurrentInvocations: 7 } }); // Secrets of environments are not watched.
    await eventually(async () => (await urlOf(made)) !== url);
    expect((await secretOf(made, "postgres-role"))?.["password"]).not.toBe(before?.["password"]);
    await using store = await storeOf(made);
    expect(await store.get("a")).toMatchObject({ value: 7 });
  },
  TEST_MS,
);

test(
  "with Delete role and schema go; with Retain they stay for the environment that takes the data over",
  async () => {
    const going = await world.create(GOING);
    const staying = await world.create();
    for (const one of [going, staying]) {
      await world.untilReady(one);
      await using store = await storeOf(one);
      await store.write(put(3));
    }
    for (const one of [going, staying]) await world.delete(one);
    for (const one of [going, staying]) await world.until(one.metadata.name, (now) => now === undefined);
    expect([await isKept(going), await isKept(staying)]).toEqual([false, true]);

    const { environmentId } = staying.spec;
    const name = `retained-${staying.metadata.name}`;
    const note = await world.client.get<KubeObject & { readonly data: { readonly uid: string } }>(
      resources.configMaps,
      name,
      OPERATOR_NAMESPACE,
    );
    // One that did not take the data over does not delete them either.
    const refused = await world.create(GOING, environmentId);
    await world.until(refused.metadata.name, (one) => conditionOf(one, "NamespaceReady")?.reason === "RetainedData");
    await world.delete(refused);
    await world.until(refused.metadata.name, (now) => now === undefined);
    expect(await isKept(staying)).toBe(true);
    const namespace = await world.client.get(resources.namespaces, staying.metadata.name);
    expect(namespace.metadata.deletionTimestamp).toBeUndefined();
    expect(note.data.uid).toBe(staying.metadata.uid);
  },
  TEST_MS,
);

test(
  "an environment of an earlier operator keeps the cell's URL, and moves while it is suspended",
  async () => {
    const made = await world.create();
    await world.untilReady(made);
    await world.endOperators();
    const { environmentId } = made.spec;
    const { name } = made.metadata;
    const platformUrl = new Secret(postgres.url);
    await removeEnvironmentDatabase({ platformUrl, environmentId }, new AbortController().signal);
    const path = `/api/v1/namespaces/${name}/secrets`;
    expect(await world.kubernetes.request({ method: "DELETE", path: `${path}/postgres-role` })).toMatchObject({ status: 200 });
    const body = { stringData: { url: postgres.url } };
    expect(await world.kubernetes.request({ method: "PATCH", path: `${path}/postgres`, body })).toMatchObject({ status: 200 });
    {
      await using store = await storeOf(made, postgres.url);
      await store.write(put(5));
    }
    world.startOperator();
    const shared = await world.until(name, (one) => conditionOf(one, "DatabaseReady")?.reason === "SharedRole");
    expect(conditionOf(shared, "Accepted")).toMatchObject({ status: "True" });
    await world.untilReady(made);
    expect(await urlOf(made)).toBe(postgres.url);

    await world.change(made, { suspended: true });
    await world.until(name, (one) => conditionOf(one, "DatabaseReady")?.reason === "OwnRole");
    await world.change(made, { suspended: false });
    await world.untilReady(made);
    await using store = await storeOf(made);
    expect(await store.get("a")).toMatchObject({ value: 5 });
    await using platform = await storeOf(made, postgres.url);
    expect(await platform.get("a")).toBeUndefined();
  },
  TEST_MS,
);

test(
  "while the database is away a new environment waits with the reason; then it continues without further action",
  async () => {
    const running = await world.create();
    await world.untilReady(running);
    await postgres.stop();
    const made = await world.create();
    const waiting = await world.until(made.metadata.name, (one) => conditionOf(one, "DatabaseReady")?.status === "False");
    expect(conditionOf(waiting, "Accepted")).toMatchObject({ status: "False", reason: "DatabaseUnavailable" });
    expect(conditionOf(waiting, "DatabaseReady")?.message).toMatch(/^STO0001: /);
    expect(world.kubelet.pods(made.metadata.name)).toEqual([]);
    await world.change(running, { limits: { concurrentInvocations: 9 } });
    await world.until(
      running.metadata.name,
      (one) => one?.status?.observedGeneration === 2 && conditionOf(one, "Ready")?.status === "True",
    );
    await postgres.startAgain();
    await world.untilReady(made, TEST_MS);
  },
  TEST_MS,
);
