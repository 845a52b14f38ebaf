/** What one new environment costs an API server: each object is written once, and hardly anything is read. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connectKubernetes, type KubeObject, type KubernetesClient } from "@perdure/kubernetes";
import { OPERATOR_USER } from "./cell.js";
import { World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
/** Nothing was requested for so long: what follows from readiness has been done. */
const QUIET_MS = 2_000;
const REQUESTS_MAX = 30;
/** Longer than changes of parts settle: the operator sees each component become ready by itself. */
const STEP_MS = 2_000;
/** Three of these are more than a minute: images are pulled and volumes provisioned meanwhile. */
const SLOW_STEP_MS = 21_000;

let world: World;
let client: KubernetesClient;
const requests: string[] = [];

beforeAll(async () => {
  world = await World.start();
  client = connectKubernetes(world.kubernetes.kubeconfig(OPERATOR_USER), (verb, plural) => {
    // The lease and the checks of definitions continue with or without an environment.
    if (plural !== "leases" && plural !== "customresourcedefinitions") requests.push(`${verb} ${plural}`);
  });
  const operator = world.startOperator({}, undefined, { client });
  await operator.untilWatching(AbortSignal.timeout(TEST_MS));
}, FIRST_MS);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
}, TEST_MS);

/** Requests from the creation of an environment until nothing is requested any more, counted. `whileStarting`: after it was made. */
async function requestsOfOne(whileStarting = async (): Promise<void> => {}): Promise<Readonly<Record<string, number>>> {
  requests.length = 0;
  const made = await world.create();
  await whileStarting();
  await world.untilReady(made);
  for (let before = -1; before !== requests.length; ) {
    before = requests.length;
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  }
  const counts: Record<string, number> = {};
  for (const one of requests) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
}

const OTHERS = {
  "create namespaces": 1,
  "patch rolebindings": 1,
  "patch networkpolicies": 4,
  "patch resourcequotas": 1,
  "patch limitranges": 1,
  "patch serviceaccounts": 3,
  "patch configmaps": 1,
  "create secrets": 4,
  "patch secrets": 2,
  "patch services": 4,
  "patch statefulsets": 2,
  "patch deployments": 1,
  "patch events": 1,
};

/** Each object is written once and nothing is read; the rest are the finalizer and statuses. */
function expectFew(
  { "patch environments": own = 0, ...others }: Readonly<Record<string, number>>,
  expected: Readonly<Record<string, number>> = OTHERS,
): void {
  expect(others).toEqual(expected);
  const total = Object.values(others).reduce((sum, count) => sum + count, own);
  expect(total).toBeLessThanOrEqual(REQUESTS_MAX);
}

test(
  "a new environment takes at most thirty requests: one for each object, its finalizer, and statuses",
  async () => {
    await requestsOfOne(); // The Secret of the cell's database is read for the first environment and cached afterwards.
    expectFew(await requestsOfOne());
  },
  TEST_MS,
);

/** Makes an environment whose components start one after the other, with that pause before each, and counts its requests. */
async function requestsOfSlowStart(stepMs: number): Promise<Readonly<Record<string, number>>> {
  await requestsOfOne();
  const slow = ["redis", "front", "worker"];
  const waiting = new Set(slow);
  const componentOf = ({ metadata }: KubeObject) => metadata.labels?.["app.kubernetes.io/component"] ?? "";
  const hold = () => world.kubelet.holdStarts((pod) => waiting.has(componentOf(pod)));
  hold();
  return requestsOfOne(async () => {
    for (const component of slow) {
      await new Promise((resolve) => setTimeout(resolve, stepMs));
      waiting.delete(component);
      hold();
    }
  });
}

test(
  "an environment whose components become ready one after the other takes no more",
  async () => {
    expectFew(await requestsOfSlowStart(STEP_MS));
  },
  TEST_MS,
);

test(
  "an environment whose start takes more than a minute takes no more: one list of its pods, and no status meanwhile",
  async () => {
    expectFew(await requestsOfSlowStart(SLOW_STEP_MS), { ...OTHERS, "list pods": 1 });
  },
  2 * TEST_MS,
);
