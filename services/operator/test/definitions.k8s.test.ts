/** Definitions that are missing, removed while the operator works, or older than it: reported by readiness, metric, event and condition. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { definitions } from "@perdure/custom-resources";
import { CLUSTER_EVENTS_NAMESPACE, type KubeObject, pathOf, resourceOf, resources } from "@perdure/kubernetes";
import { Metrics } from "@perdure/telemetry";
import { parseAllDocuments } from "yaml";
import { lackingIn } from "../src/definition-differences.js";
import type { Operator } from "../src/index.js";
import { aService, conditionIn, statusOf } from "./services.js";
import { conditionOf, defineAll, OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;
const SOON_MS = 60_000;
const PLURALS = ["environments", "servicedeployments", "cloudenvironments"];

let world: World;
let operator: Operator;
const metrics = new Metrics();

beforeAll(async () => {
  world = await World.start({ withDefinitions: false });
  operator = world.startOperator({ definitionsAgainMs: 200 }, metrics);
}, FIRST_MS);
afterAll(() => world?.[Symbol.asyncDispose](), TEST_MS);

const hasMetric = (name: string, plural: string, value: number): boolean =>
  metrics.text().includes(`${name}{crd="${plural}"} ${value}\n`);

async function eventsAbout(plural: string): Promise<string[]> {
  const { items } = await world.client.list<KubeObject & { reason?: string; regarding?: { name?: string } }>(resources.events, {
    namespace: CLUSTER_EVENTS_NAMESPACE,
  });
  return items.filter(({ regarding }) => regarding?.name === `${plural}.perdure.dev`).map(({ reason = "" }) => reason);
}

const aCloud = (name: string): KubeObject => ({
  apiVersion: "perdure.dev/v1alpha1",
  kind: "CloudEnvironment",
  metadata: { name },
  spec: {
    environmentId: "env_0123456789abcdef",
    region: "eu",
    signingPublicKey: `publickeyv1_${"1".repeat(43)}`,
    authentication: { secretRef: { name: "nothing", key: "key" } },
  },
});

const untilReconciled = (name: string): Promise<unknown> =>
  eventually(
    `${name} was reconciled`,
    async () => {
      const existing = await world.client.find<KubeObject & { status?: { conditions?: readonly unknown[] } }>(
        resources.cloudEnvironments,
        name,
      );
      return existing?.status?.conditions !== undefined;
    },
    SOON_MS,
  );

test(
  "while definitions are missing, readiness, metric and event name each; when they are installed, the operator continues",
  async () => {
    for (const plural of PLURALS) {
      await eventually(plural, () => hasMetric("perdure_operator_crd_missing", plural, 1), SOON_MS);
      expect(operator.waitingFor()).toContain(`the definition of ${plural}`);
      await eventually("an event", async () => (await eventsAbout(plural)).includes("CrdMissing"), SOON_MS);
    }
    await defineAll(world.client);
    await operator.untilWatching(AbortSignal.timeout(SOON_MS));
    expect(operator.waitingFor()).toEqual([]);
    for (const plural of PLURALS) expect(hasMetric("perdure_operator_crd_missing", plural, 0)).toBe(true);
    await world.client.create(aCloud("first"));
    await untilReconciled("first");
  },
  TEST_MS,
);

/** An object of another kind is reconciled meanwhile. */
async function goesOnWithout(plural: string): Promise<void> {
  const name = `without-${plural}`;
  if (plural !== "cloudenvironments") {
    await world.client.create(aCloud(name));
    return void (await untilReconciled(name));
  }
  const one = aService({ name, namespace: OPERATOR_NAMESPACE, image: "one", spec: { replicas: 0 } }, "http://127.0.0.1:9");
  await world.client.create(one);
  await eventually("it was reconciled", async () => conditionIn(await statusOf(world.client, one), "Ready"), SOON_MS);
}

test.each(PLURALS)(
  "%s: removed while it works, it says so, does everything else, and recovers",
  async (plural) => {
    const definition = definitions.find(({ metadata }) => metadata.name === `${plural}.perdure.dev`);
    await world.client.delete(resources.definitions, `${plural}.perdure.dev`, undefined);
    await eventually("it is missed", () => hasMetric("perdure_operator_crd_missing", plural, 1), SOON_MS);
    expect(operator.waitingFor()).toContain(`the definition of ${plural}`);
    await goesOnWithout(plural);
    await world.client.apply(definition as unknown as KubeObject, { manager: "test", force: true });
    await eventually("it is seen", () => hasMetric("perdure_operator_crd_missing", plural, 0), SOON_MS);
    await eventually("nothing is waited for", () => operator.waitingFor().length === 0, SOON_MS);
    expect(world.failures).toEqual([]);
    const name = `after-${plural}`;
    await eventually("an object", () => world.client.create(aCloud(name)), SOON_MS);
    await untilReconciled(name);
  },
  TEST_MS,
);

/** As an older release has it. */
function older(plural: string, field: string): KubeObject {
  const source = definitions.find(({ metadata }) => metadata.name === `${plural}.perdure.dev`);
  const copy = JSON.parse(JSON.stringify(source)) as {
    spec: {
      versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, unknown> } } } } }[];
    };
  };
  delete copy.spec.versions[0]?.schema.openAPIV3Schema.properties.spec.properties[field];
  return copy as unknown as KubeObject;
}

test(
  "a definition that lacks a field is reported by metric, event and each object, until it is upgraded",
  async () => {
    const one = aService(
      { name: "outdated", namespace: OPERATOR_NAMESPACE, image: "one", spec: { replicas: 0 } },
      "http://127.0.0.1:9",
    );
    await world.client.apply(one, { manager: "people", force: true });
    const condition = async () => conditionIn(await statusOf(world.client, one), "CrdOutdated");
    await world.client.apply(older("servicedeployments", "drainAutoscaling"), { manager: "test", force: true });
    await eventually("the metric reports it", () => hasMetric("perdure_operator_crd_outdated", "servicedeployments", 1), SOON_MS);
    const crdCondition = await eventually("the condition reports it", condition, SOON_MS);
    expect(crdCondition).toMatchObject({
      status: "True",
      reason: "SchemaDiffers",
      message: expect.stringContaining(".spec.drainAutoscaling"),
    });
    await eventually("an event", async () => (await eventsAbout("servicedeployments")).includes("CrdOutdated"), SOON_MS);

    const environment = await world.create();
    await world.client.apply(older("environments", "deletionProtection"), { manager: "test", force: true });
    const outdated = await world.until(
      environment.metadata.name,
      (changed) => conditionOf(changed, "CrdOutdated")?.status === "True",
    );
    expect(conditionOf(outdated, "CrdOutdated")?.message).toContain(".spec.deletionProtection");

    await defineAll(world.client);
    await eventually("it is well", () => hasMetric("perdure_operator_crd_outdated", "servicedeployments", 0), SOON_MS);
    await eventually("the object is well", async () => (await condition()) === undefined, SOON_MS);
  },
  TEST_MS,
);

test(
  "what an API server has stored is what was sent: nothing of ours is lacking",
  async () => {
    for (const plural of PLURALS) {
      const stored = await world.client.get<KubeObject & { spec: { versions: { schema: { openAPIV3Schema: object } }[] } }>(
        resources.definitions,
        `${plural}.perdure.dev`,
      );
      const schema = stored.spec.versions[0]?.schema.openAPIV3Schema as Record<string, unknown>;
      expect(lackingIn(schema, plural)).toEqual([]);
    }
  },
  TEST_MS,
);

// ── examples ─────────────────────────────────────────────────────────────────────────────────────

const EXAMPLES = fileURLToPath(new URL("../../../deploy/examples/kubernetes/", import.meta.url));

const documentsOf = (file: string): KubeObject[] =>
  parseAllDocuments(readFileSync(`${EXAMPLES}${file}`, "utf8")).map((document) => document.toJS() as KubeObject);

function strictly(body: KubeObject) {
  const { namespace } = body.metadata;
  const path = `${pathOf(resourceOf(body), namespace)}?dryRun=All&fieldValidation=Strict`;
  return world.kubernetes.request({ method: "POST", path, body });
}

test.each(readdirSync(EXAMPLES))(
  "the example %s is what an API server takes, to the last field",
  async (file) => {
    const path = "/api/v1/namespaces";
    const { status } = await world.kubernetes.request({ method: "POST", path, body: { metadata: { name: "shop" } } });
    expect([201, 409]).toContain(status);
    for (const body of documentsOf(file)) {
      const answer = await strictly(body);
      const isThere = body.kind === "Namespace" && answer.status === 409;
      expect(isThere ? "" : answer).toEqual(isThere ? "" : expect.objectContaining({ status: 201 }));
      if (body.apiVersion !== "perdure.dev/v1alpha1") continue;
      const misspelt = { ...body, spec: { ...(body["spec"] as object), replicsa: 1 } };
      expect(await strictly(misspelt)).toMatchObject({ status: 400, text: expect.stringContaining("replicsa") });
    }
  },
  TEST_MS,
);
