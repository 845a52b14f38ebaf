import { expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, keyOf, type Resource, resources } from "@perdure/kubernetes";
import { environmentRole } from "@perdure/postgres";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import { cell, OPERATOR_NAMESPACE } from "../../test/cell.js";
import { FakeDatabase, unavailable } from "../../test/fake-database.js";
import { DATABASE_BACKOFF } from "../limits.js";
import { noteNameOf } from "./retained-notes.js";
import { SecretTurns } from "./secret-turns.js";
import { ensureSecrets } from "./secrets.js";
import { FINALIZER, teardown } from "./teardown.js";

const SIGNAL = new AbortController().signal;
const ID = "env_0123456789";
const NAMESPACE = objectNameOf(ID);
const PLATFORM = "postgres://platform:secret@db.example.org/perdure";

/** Secrets and what runs, in memory, and a database that is played. */
function aCluster() {
  const there = new Map<string, KubeObject>();
  const cluster = { pods: 0, replicas: 0 };
  const write = async (object: KubeObject) => {
    there.set(keyOf(object.metadata.name, object.metadata.namespace), object);
    return object;
  };
  const client = {
    find: async (resource: Resource, name: string, namespace?: string) =>
      resource === resources.statefulSets || resource === resources.deployments
        ? { apiVersion: "apps/v1", kind: "Workload", metadata: { name }, spec: { replicas: cluster.replicas } }
        : there.get(keyOf(name, namespace)),
    list: async () => ({ items: Array.from({ length: cluster.pods }, () => ({})) }),
    apply: write,
    create: write,
    patch: write,
  } as unknown as KubernetesClient;
  const clock = new VirtualClock();
  const database = new FakeDatabase();
  const databases = database.databases(clock);
  const put = (name: string, namespace: string, data: Readonly<Record<string, string>>) => {
    const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
    return write({
      ...resources.secrets,
      metadata: { name, namespace },
      data: Object.fromEntries(encoded),
    } as unknown as KubeObject);
  };
  const read = (name: string, key: string): string | undefined => {
    const data = there.get(keyOf(name, NAMESPACE)) as { readonly data?: Readonly<Record<string, string>> } | undefined;
    return data?.data?.[key] === undefined ? undefined : Buffer.from(data.data[key], "base64").toString();
  };
  const turns = new SecretTurns(1);
  const pass = async (changes: Partial<EnvironmentResource["spec"]> = {}, status?: EnvironmentResource["status"]) => {
    const environment = { ...environmentWith({ environmentId: ID, ...changes }), ...(status === undefined ? {} : { status }) };
    const ports = { client, kubernetes: client, cell: { ...cell, grpcTls: false }, clock, turns, databases, isRedisInUse: false };
    const result = await ensureSecrets(environment, ports, SIGNAL);
    if (result.kind !== "ready" && result.kind !== "noDatabase") throw new Error(result.kind);
    const { observation, againMs } = result.database;
    return { kind: result.kind, type: observation.type, reason: observation.reason, message: observation.message, againMs };
  };
  const remove = (changes: Partial<EnvironmentResource["spec"]>) => {
    const environment = environmentWith({ environmentId: ID, ...changes }, { finalizers: [FINALIZER] });
    return teardown(environment, { client, cell, databases, notes: { noteWritten: () => {} } }, SIGNAL);
  };
  const deleteStored = (name: string) => there.delete(keyOf(name, NAMESPACE));
  return { cluster, clock, database, put, read, pass, remove, deleteStored, there, client };
}

async function withPlatform() {
  const world = aCluster();
  await world.put("postgres", OPERATOR_NAMESPACE, { url: PLATFORM });
  return world;
}

test("pods get a URL of the environment's own role, which is made once", async () => {
  const { pass, read, database } = await withPlatform();
  expect(await pass()).toMatchObject({ kind: "ready", type: "DatabaseReady", reason: "OwnRole" });
  const password = read("postgres-role", "password");
  expect(read("postgres", "url")).toBe(`postgres://${environmentRole(ID)}:${password}@db.example.org/perdure`);
  expect([...database.passwords]).toEqual([[ID, password]]);
  expect(await pass()).toMatchObject({ kind: "ready", reason: "OwnRole" });
  expect(database.requestedIds).toEqual([ID]);
});

test("another password of the platform's role changes nothing of the environment", async () => {
  const { pass, read, put, database } = await withPlatform();
  await pass();
  const url = read("postgres", "url");
  await put("postgres", OPERATOR_NAMESPACE, { url: PLATFORM.replace("secret", "rotated") });
  await pass();
  expect([read("postgres", "url"), database.requestedIds]).toEqual([url, [ID]]);
});

test("a database that does not answer leaves a new environment without pods; it is tried again after growing pauses, with the same password", async () => {
  const { pass, read, database, clock } = await withPlatform();
  database.failure = unavailable;
  expect(await pass()).toMatchObject({
    kind: "noDatabase",
    reason: "DatabaseUnavailable",
    message: "STO0001: the database failed: connect ECONNREFUSED",
  });
  const password = read("postgres-role", "password");
  expect(read("postgres", "url")).toBeUndefined();
  const { againMs } = await pass(); // Within the pause there is no request to the database.
  expect(database.requestedIds).toEqual([ID]);
  expect(againMs).toBeGreaterThan(0);
  expect(againMs).toBeLessThanOrEqual(DATABASE_BACKOFF.firstMs);
  await clock.advanceTo(clock.nowMs() + (againMs as number));
  await pass();
  expect(database.requestedIds).toEqual([ID, ID]);
  database.failure = undefined;
  await clock.advanceTo(clock.nowMs() + DATABASE_BACKOFF.longestMs);
  expect(await pass()).toMatchObject({ kind: "ready", reason: "OwnRole" });
  expect(database.passwords.get(ID)).toBe(password);
});

test("an operator that ended before it wrote the URL continues with the password that it created", async () => {
  const { pass, read, deleteStored, database } = await withPlatform();
  await pass();
  const [url, password] = [read("postgres", "url"), read("postgres-role", "password")];
  deleteStored("postgres");
  await pass();
  expect([read("postgres", "url"), read("postgres-role", "password"), database.requestedIds.length]).toEqual([url, password, 2]);
});

test("a deleted password is created again", async () => {
  const { pass, read, deleteStored, database } = await withPlatform();
  await pass();
  const password = read("postgres-role", "password");
  deleteStored("postgres-role");
  await pass();
  expect(read("postgres-role", "password")).not.toBe(password);
  expect(database.passwords.get(ID)).toBe(read("postgres-role", "password"));
  expect(new URL(read("postgres", "url") as string).password).toBe(read("postgres-role", "password"));
});

test("an environment of an earlier operator keeps the cell's URL until nothing of it runs", async () => {
  const { pass, read, put, database, cluster } = await withPlatform();
  await put("postgres", NAMESPACE, { url: PLATFORM });
  database.shared.add(ID);
  Object.assign(cluster, { pods: 2, replicas: 1 });
  expect(await pass()).toMatchObject({ kind: "ready", reason: "SharedRole", againMs: undefined });
  expect(await pass({ suspended: true })).toMatchObject({ reason: "SharedRole", againMs: expect.any(Number) });
  cluster.replicas = 0;
  expect(await pass({ suspended: true })).toMatchObject({ reason: "SharedRole" });
  Object.assign(cluster, { pods: 0, replicas: 1 });
  expect(await pass({ suspended: true })).toMatchObject({ reason: "SharedRole" });
  cluster.replicas = 0;
  expect(await pass()).toMatchObject({ reason: "SharedRole" });
  expect([read("postgres", "url"), database.requestedIds]).toEqual([PLATFORM, []]);

  database.failure = unavailable;
  expect(await pass({ suspended: true })).toMatchObject({ kind: "ready", reason: "DatabaseUnavailable" });
  expect(read("postgres", "url")).toBe(PLATFORM);
  database.failure = undefined;
  expect(await pass({ suspended: true })).toMatchObject({ kind: "ready", reason: "DatabaseUnavailable" });
});

test("at rest its rows move, and it never gets the cell's URL again", async () => {
  const { pass, read, put, database } = await withPlatform();
  await put("postgres", NAMESPACE, { url: PLATFORM });
  database.shared.add(ID);
  expect(await pass({ suspended: true })).toMatchObject({ reason: "OwnRole" });
  expect(database.shared.size).toBe(0);
  expect(await pass()).toMatchObject({ reason: "OwnRole" });
  expect(read("postgres", "url")).toContain(environmentRole(ID));
});

test("an environment whose Secret is missing while it runs with the platform's rows gets no role", async () => {
  const { pass, read, database, cluster } = await withPlatform();
  database.shared.add(ID);
  cluster.pods = 1;
  expect(await pass({}, { data: { present: true } })).toMatchObject({ kind: "noDatabase", reason: "SharedRole" });
  expect(read("postgres", "url")).toBeUndefined();
});

test("a database that the environment names is given as it is, unless it is the cell's", async () => {
  const { pass, read, put, database } = await withPlatform();
  await put("mine", OPERATOR_NAMESPACE, { url: "postgres://mine@elsewhere/mine" });
  expect(await pass({ postgres: { secretRef: { name: "mine", key: "url" } } })).toMatchObject({ reason: "External" });
  expect([read("postgres", "url"), database.requestedIds]).toEqual(["postgres://mine@elsewhere/mine", []]);

  const other = await withPlatform();
  await other.put("copy", OPERATOR_NAMESPACE, { url: PLATFORM });
  expect(await other.pass({ postgres: { secretRef: { name: "copy", key: "url" } } })).toMatchObject({ reason: "OwnRole" });
  expect(other.read("postgres", "url")).not.toBe(PLATFORM);
});

const GOING = { reclaimPolicy: "Delete", deletionProtection: false } as const;

test("role and schema are removed with an environment whose data is deleted, and its deletion waits for a database that does not respond", async () => {
  const { pass, remove, database } = await withPlatform();
  await pass();
  database.failure = unavailable;
  expect(await remove(GOING)).toMatchObject({ kind: "waiting", reason: "DatabaseUnavailable", againMs: expect.any(Number) });
  expect(database.passwords.size).toBe(1);

  const again = await withPlatform();
  await again.pass();
  await again.remove(GOING);
  expect(again.database.passwords.size).toBe(0);
});

test("role and schema stay with Retain and Snapshot, and when they belong to an earlier environment that was not adopted", async () => {
  for (const reclaimPolicy of ["Retain", "Snapshot"] as const) {
    const { pass, remove, database } = await withPlatform();
    await pass();
    await remove({ reclaimPolicy });
    expect(database.passwords.size).toBe(1);
  }
  const { remove, database, there } = await withPlatform();
  database.passwords.set(ID, "theirs");
  const name = noteNameOf(environmentWith({ environmentId: ID }));
  const metadata = { name, namespace: OPERATOR_NAMESPACE };
  there.set(keyOf(name, OPERATOR_NAMESPACE), {
    ...resources.configMaps,
    metadata,
    data: { uid: "uid-of-another" },
  } as unknown as KubeObject);
  await remove(GOING);
  expect(database.passwords.size).toBe(1);
});

test("the credentials of the platform's URL are in no object of the environment", async () => {
  const { pass, there } = await withPlatform();
  await pass();
  const own = [...there].filter(([key]) => key.includes(NAMESPACE)).map(([, object]) => JSON.stringify(object));
  const decoded = own.map((text) =>
    text.replace(/"([A-Za-z0-9+/=]{12,})"/g, (_, encoded) => Buffer.from(encoded, "base64").toString()),
  );
  expect(decoded.join()).not.toContain(new URL(PLATFORM).password);
  expect(new Secret(PLATFORM).toString()).toBe("***");
});
