import { beforeEach, describe, expect, test } from "@jest/globals";
import { type KubeObject, KubernetesApiError, type KubernetesClient, type MetadataOnly, resources } from "@perdure/kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { NEW_NAMESPACE_MS, SECRET_TRUST_MS, START_SECRET_TRUST_MS } from "../limits.js";
import { SecretCopies } from "./secret-copies.js";

const OWN = "perdure-system";
const THEIRS = "env-0123456789";
const OTHERS = "env-9876543210";
const { apiVersion, kind } = resources.secrets;

let stored: Map<string, KubeObject>;
let watched: Map<string, MetadataOnly>;
let requests: string[];
let clock: VirtualClock;
let copies: SecretCopies;

const aSecret = (name: string, namespace: string, resourceVersion: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace, resourceVersion },
});

beforeEach(() => {
  [stored, watched, requests, clock] = [new Map(), new Map(), [], new VirtualClock()];
  const keyOf = ({ metadata: { name, namespace } }: KubeObject) => `${namespace}/${name}`;
  const client = {
    find: async (_: unknown, name: string, namespace: string) => {
      requests.push(`get ${namespace}/${name}`);
      return stored.get(`${namespace}/${name}`);
    },
    create: async (object: KubeObject) => {
      if (stored.has(keyOf(object)))
        throw new KubernetesApiError("create secrets", 409, JSON.stringify({ reason: "AlreadyExists" }));
      stored.set(keyOf(object), object);
      return object;
    },
    apply: async (object: KubeObject) => {
      stored.set(keyOf(object), object);
      return object;
    },
  } as unknown as KubernetesClient;
  const get = (name: string, namespace?: string) => watched.get(`${namespace}/${name}`);
  copies = new SecretCopies({ client, clock, watched: { get }, namespace: OWN });
});

const find = (name: string, namespace: string) => copies.find(resources.secrets, name, namespace, {});

test("a Secret that is watched is read once for each of its versions", async () => {
  for (const version of ["1", "2"]) {
    stored.set(`${OWN}/db`, aSecret("db", OWN, version));
    watched.set(`${OWN}/db`, aSecret("db", OWN, version));
    for (let n = 0; n < 3; n++) expect((await find("db", OWN))?.metadata.resourceVersion).toBe(version);
    clock.advanceBy(10 * SECRET_TRUST_MS);
  }
  expect(requests).toEqual([`get ${OWN}/db`, `get ${OWN}/db`]);
  stored.delete(`${OWN}/db`);
  watched.delete(`${OWN}/db`);
  expect(await find("db", OWN)).toBeUndefined();
});

test("a Secret of an environment is cached for a short time, and read at once when the environment changed", async () => {
  stored.set(`${THEIRS}/key`, aSecret("key", THEIRS, "1"));
  await find("key", THEIRS);
  await find("key", THEIRS);
  expect(requests).toHaveLength(1);
  stored.delete(`${THEIRS}/key`);
  copies.discard(THEIRS);
  expect(await find("key", THEIRS)).toBeUndefined();
  stored.set(`${THEIRS}/key`, aSecret("key", THEIRS, "2"));
  expect(await find("key", THEIRS)).toBeDefined();
  clock.advanceBy(SECRET_TRUST_MS + 1);
  stored.delete(`${THEIRS}/key`);
  expect(await find("key", THEIRS)).toBeUndefined();
});

test("in a namespace that was just created no Secret is read, until it contains one that we did not create", async () => {
  copies.noteNew(OTHERS);
  stored.set(`${OTHERS}/key`, aSecret("key", OTHERS, "1"));
  expect(await find("key", OTHERS)).toBeUndefined();
  clock.advanceBy(NEW_NAMESPACE_MS);
  expect(await find("key", OTHERS)).toBeDefined(); // An operator of the cluster has restored it.
  requests.length = 0;

  copies.noteNew(THEIRS);
  expect(await find("key", THEIRS)).toBeUndefined();
  await copies.create(aSecret("key", THEIRS, "1"));
  await copies.apply(aSecret("tls", THEIRS, "1"), { manager: "test", force: true });
  expect((await find("key", THEIRS))?.metadata.resourceVersion).toBe("1");
  expect(await find("tls", THEIRS)).toBeDefined();
  expect(requests).toEqual([]);
  stored.set(`${THEIRS}/auth`, aSecret("auth", THEIRS, "7"));
  await expect(copies.create(aSecret("auth", THEIRS, "1"))).rejects.toThrow("409");
  expect((await find("auth", THEIRS))?.metadata.resourceVersion).toBe("7");
});

describe("while an environment starts for the first time", () => {
  beforeEach(async () => {
    copies.noteNew(THEIRS);
    await copies.create(aSecret("key", THEIRS, "1"));
    clock.advanceBy(3 * SECRET_TRUST_MS);
  });
  const read = async (): Promise<number> => {
    await find("key", THEIRS);
    return requests.splice(0).length;
  };

  test("Secrets that the operator created are not read again for minutes", async () => {
    expect(await read()).toBe(0);
    clock.advanceBy(START_SECRET_TRUST_MS - 3 * SECRET_TRUST_MS);
    expect(await read()).toBe(1);
  });

  test("readiness ends that a minute later", async () => {
    copies.noteReady(THEIRS);
    expect(await read()).toBe(0);
    clock.advanceBy(SECRET_TRUST_MS);
    expect(await read()).toBe(1);
    copies.noteReady(THEIRS); // Each later pass reports readiness again.
    clock.advanceBy(SECRET_TRUST_MS);
    expect(await read()).toBe(1);
  });

  test.each<[string, () => void]>([
    ["a problem ends that at once", () => copies.noteProblem(THEIRS)],
    ["a change of the environment ends that at once", () => copies.discard(THEIRS)],
    ["another leader ends that at once", () => copies.clear()],
  ])("%s", async (_, end) => {
    end();
    expect(await read()).toBe(1);
  });
});
