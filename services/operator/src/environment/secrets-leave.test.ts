import { expect, test } from "@jest/globals";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import {
  type KubeObject,
  KubernetesApiError,
  type KubernetesClient,
  keyOf,
  type ObjectCache,
  type Resource,
  resourceOf,
  resources,
} from "@perdure/kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import { cell as aCell, OPERATOR_NAMESPACE } from "../../test/cell.js";
import { FakeDatabase } from "../../test/fake-database.js";
import { ObjectApplier } from "../applier.js";
import type { Cell } from "../cell.js";
import { SECRETS_BINDING } from "../desired/namespace.js";
import { START_SECRET_TRUST_MS, WAIT_FORBIDDEN_MS, WAIT_SOON_MS } from "../limits.js";
import type { EnvironmentReconcilePorts } from "./ports.js";
import { reconcileEnvironment } from "./reconcile.js";
import { RetainedNotes } from "./retained-notes.js";
import { VolumeRetention } from "./retained-volumes.js";
import { SecretCopies } from "./secret-copies.js";
import { SecretTurns } from "./secret-turns.js";
import { StartChecks } from "./start-checks.js";
import { StatusPacing } from "./status-pacing.js";
import { FINALIZER } from "./teardown.js";

const SIGNAL = new AbortController().signal;
const environment = environmentWith({}, { finalizers: [FINALIZER] });
const NAMESPACE = objectNameOf(environment.spec.environmentId);
const BINDING = `rolebindings/${keyOf(SECRETS_BINDING, NAMESPACE)}`;

/** A cluster that gives access to the Secrets of the environment's namespace only with the role binding, and records writes. */
function aCluster(changes: Partial<Cell> = {}) {
  const cell = { ...aCell, grpcTls: false, ...changes };
  const there = new Map<string, KubeObject>();
  const written: string[] = [];
  let current: EnvironmentResource = environment;
  let uids = 0;
  const keyFor = (resource: Resource, name: string, namespace?: string) => `${resource.plural}/${keyOf(name, namespace)}`;
  const needsLeave = (resource: Resource, namespace?: string): void => {
    if (resource !== resources.secrets || namespace !== NAMESPACE || there.has(BINDING)) return;
    throw new KubernetesApiError("get secrets", 403, JSON.stringify({ reason: "Forbidden", message: "secrets is forbidden" }));
  };
  const write = async (object: KubeObject, { subresource }: { readonly subresource?: string } = {}): Promise<KubeObject> => {
    if (subresource === "status") {
      current = { ...environment, status: (object as unknown as EnvironmentResource).status } as EnvironmentResource;
      return object;
    }
    const resource = resourceOf(object);
    const { name, namespace } = object.metadata;
    needsLeave(resource, namespace);
    const key = keyFor(resource, name, namespace);
    written.push(key);
    const metadata = there.get(key)?.metadata ?? { ...object.metadata, uid: `uid-${++uids}`, resourceVersion: `${uids}` };
    there.set(key, { ...object, metadata });
    return { ...object, metadata };
  };
  const client = {
    find: async (resource: Resource, name: string, namespace?: string) => {
      needsLeave(resource, namespace);
      return there.get(keyFor(resource, name, namespace));
    },
    list: async () => ({ items: [] }),
    apply: write,
    create: write,
    serves: async () => false,
  } as unknown as KubernetesClient;
  const clock = new VirtualClock();
  const cacheOf = (resource: Resource): ObjectCache | undefined =>
    resource === resources.roleBindings || resource === resources.secrets
      ? undefined
      : ({ get: (name: string, namespace?: string) => there.get(keyFor(resource, name, namespace)) } as ObjectCache);
  const metrics = { driftReverts: { inc: () => {} } };
  const applier = new ObjectApplier({ client, cacheOf, clock, metrics: metrics as never, onFight: () => {} });
  const watched = { get: () => undefined };
  const secretCopies = new SecretCopies({ client, clock, watched, namespace: OPERATOR_NAMESPACE });
  const empty = { get: () => undefined, values: () => [] };
  const ports = {
    client,
    applier,
    caches: {
      environments: { get: () => current, values: () => [current] },
      namespaces: cacheOf(resources.namespaces),
      statefulSets: empty,
      deployments: empty,
      volumeClaims: empty,
      resourceQuotas: empty,
      of: () => empty,
    },
    cell,
    clock,
    metrics: { readiness: { record: () => {} }, snapshots: { record: () => {} }, volumes: { record: () => {} } },
    events: { record: async () => {} },
    writes: { fresh: () => current, note: () => {} },
    notes: new RetainedNotes({ get: () => undefined, onChange: () => {} }, OPERATOR_NAMESPACE),
    startChecks: new StartChecks(clock),
    redisStartChecks: new StartChecks(clock),
    statusPacing: new StatusPacing(clock),
    secretCopies,
    turns: { discard: () => {} },
    secretTurns: new SecretTurns(1),
    databases: new FakeDatabase().databases(),
    volumePoller: { poll: async () => undefined },
    redisFailover: { run: async () => undefined },
    retention: new VolumeRetention(clock),
    definitions: { outdated: () => [] },
  } as unknown as EnvironmentReconcilePorts;
  there.set(keyFor(resources.secrets, "postgres", OPERATOR_NAMESPACE), {
    ...resources.secrets,
    metadata: { name: "postgres", namespace: OPERATOR_NAMESPACE },
    data: { url: Buffer.from("postgres://db").toString("base64") },
  } as unknown as KubeObject);
  return {
    there,
    clock,
    /** What a pass wrote, and how long until the next. */
    pass: async () => {
      written.length = 0;
      const result = await reconcileEnvironment(environment.metadata.name, ports, SIGNAL);
      return { written: [...written], againMs: result.kind === "wait" ? result.againMs : undefined };
    },
    accepted: () => current.status?.conditions?.find(({ type }) => type === "Accepted"),
  };
}

test("a deleted role binding for Secrets is created again by the next pass, which continues where it was refused", async () => {
  const { there, clock, pass, accepted } = aCluster();
  const first = await pass();
  expect(first.written).toContain(BINDING);
  expect(first.written).toContain(`secrets/${NAMESPACE}/signing-key`);
  expect(accepted()).toMatchObject({ status: "True" });
  expect((await pass()).written).not.toContain(BINDING);

  there.delete(BINDING); // Role bindings are not watched, so there is no change event.
  clock.advanceBy(START_SECRET_TRUST_MS); // What was written is trusted for so long.
  const refused = await pass();
  expect(refused.written).not.toContain(BINDING);
  expect(accepted()).toMatchObject({ status: "False", reason: "Forbidden" });
  expect(refused.againMs).toBe(WAIT_SOON_MS);

  const again = await pass();
  expect(again.written).toContain(BINDING);
  expect(accepted()).toMatchObject({ status: "True" });
  expect((await pass()).written).not.toContain(BINDING);
});

test("where the operator does not create role bindings, it waits for another manager", async () => {
  const { pass, accepted } = aCluster({ secretsRole: undefined });
  const refused = await pass();
  expect(refused.written).not.toContain(BINDING);
  expect(refused.againMs).toBe(WAIT_FORBIDDEN_MS);
  expect(accepted()).toMatchObject({ status: "False", reason: "Forbidden" });
});
