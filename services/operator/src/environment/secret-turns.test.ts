import { expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, keyOf, type Resource, resources } from "@perdure/kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import { cell as aCell, OPERATOR_NAMESPACE } from "../../test/cell.js";
import { FakeDatabase } from "../../test/fake-database.js";
import { WAIT_RELEASE_MS } from "../limits.js";
import { SecretTurns } from "./secret-turns.js";
import { ensureSecrets } from "./secrets.js";

const SIGNAL = new AbortController().signal;
const cell = { ...aCell, grpcTls: false };

/** Secrets by namespace and name, and the URL of the database in the operator's namespace. */
function aCluster(atOnce: number) {
  const there = new Map<string, KubeObject>();
  const write = async (object: KubeObject) => {
    there.set(keyOf(object.metadata.name, object.metadata.namespace), object);
    return object;
  };
  const client = {
    find: async (_: Resource, name: string, namespace?: string) => there.get(keyOf(name, namespace)),
    apply: write,
    create: write,
    list: async () => ({ items: [] }),
  } as unknown as KubernetesClient;
  const turns = new SecretTurns(atOnce);
  const databases = new FakeDatabase().databases();
  const rotateTo = (url: string) =>
    write({
      ...resources.secrets,
      metadata: { name: "postgres", namespace: OPERATOR_NAMESPACE },
      data: { url: Buffer.from(url).toString("base64") },
    } as unknown as KubeObject);
  const pass = async (environment: EnvironmentResource) => {
    const result = await ensureSecrets(
      environment,
      { client, kubernetes: client, cell, clock: new VirtualClock(), turns, databases, isRedisInUse: false },
      SIGNAL,
    );
    if (result.kind !== "ready") throw new Error(result.kind);
    const { hash, isWaiting, againMs } = result.secrets;
    const copy = there.get(keyOf("postgres", environment.metadata.name)) as unknown as {
      readonly data: { readonly url: string };
    };
    return { hash, isWaiting, againMs, host: new URL(Buffer.from(copy.data.url, "base64").toString()).host };
  };
  return { pass, rotateTo, turns };
}

const named = (id: string, isReady = true): EnvironmentResource => {
  const condition = {
    type: "Ready",
    status: isReady ? "True" : "False",
    reason: "x",
    message: "",
    lastTransitionTime: "",
  } as const;
  return { ...environmentWith({ environmentId: `env_${id}` }), status: { conditions: [condition] } };
};

test("a limited number of ready environments apply a changed database at a time; the others keep pods, copy and hash, and check again", async () => {
  const { pass, rotateTo, turns } = aCluster(1);
  await rotateTo("postgres://one");
  const [a, b] = [named("aaaaaaaaaa"), named("bbbbbbbbbb")];
  const [beforeA, beforeB] = [await pass(a), await pass(b)];
  expect([beforeA.isWaiting, beforeA.againMs, beforeB.host]).toEqual([false, undefined, "one"]);

  await rotateTo("postgres://two");
  const passA = await pass(a);
  expect([passA.host, passA.isWaiting, passA.hash === beforeA.hash]).toEqual(["two", false, false]);
  expect(await pass(b)).toEqual({ ...beforeB, isWaiting: true, againMs: WAIT_RELEASE_MS });
  expect(await pass(a)).toEqual(passA);
  expect(await pass(b)).toMatchObject({ isWaiting: true });

  turns.end(a.metadata.name);
  expect(await pass(b)).toMatchObject({ host: "two", isWaiting: false });
});

test("an environment that is not ready applies it at once without a turn; a new one starts with it", async () => {
  const { pass, rotateTo } = aCluster(1);
  await rotateTo("postgres://one");
  const [a, b, c] = [named("aaaaaaaaaa"), named("bbbbbbbbbb", false), named("cccccccccc")];
  for (const one of [a, b]) await pass(one);
  await rotateTo("postgres://two");
  expect(await pass(b)).toMatchObject({ host: "two", isWaiting: false });
  expect(await pass(a)).toMatchObject({ host: "two", isWaiting: false });
  expect(await pass(c)).toMatchObject({ host: "two", isWaiting: false });
});
