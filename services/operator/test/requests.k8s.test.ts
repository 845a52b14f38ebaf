/** What one new environment costs an API server: each object is written once, and hardly anything is read. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connectKubernetes, type KubernetesClient } from "@perdure/driver-kubernetes";
import { OPERATOR_USER } from "./cell.js";
import { World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
/** Nothing was requested for so long: what follows from readiness has been done. */
const QUIET_MS = 2_000;
/** Of these are statuses: two, and up to four where pods become ready so slowly that the operator sees each step. */
const REQUESTS_MAX = 32;

let world: World;
let client: KubernetesClient;
const asked: string[] = [];

beforeAll(async () => {
  world = await World.start();
  client = connectKubernetes(world.kubernetes.kubeconfig(OPERATOR_USER), (verb, plural) => {
    // The lease and the look at definitions go on whether there is an environment or not.
    if (plural !== "leases" && plural !== "customresourcedefinitions") asked.push(`${verb} ${plural}`);
  });
  const operator = world.startOperator({}, undefined, { client });
  await operator.untilWatching(AbortSignal.timeout(TEST_MS));
}, FIRST_MS);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
}, TEST_MS);

/** Requests from the creation of an environment until nothing is requested any more, counted. */
async function requestsOfOne(): Promise<Readonly<Record<string, number>>> {
  asked.length = 0;
  await world.untilReady(await world.create());
  for (let before = -1; before !== asked.length; ) {
    before = asked.length;
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  }
  const counts: Record<string, number> = {};
  for (const one of asked) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
}

test(
  "a new environment takes at most thirty-two requests: one for each object, one look for a note of an earlier environment, and statuses",
  async () => {
    await requestsOfOne(); // The Secret of the cell's database is read for the first one, and known then.
    const requests = await requestsOfOne();
    const { "patch environments": statuses = 0, ...others } = requests;
    expect(others).toEqual({
      "get configmaps": 1,
      "create namespaces": 1,
      "patch rolebindings": 1,
      "patch networkpolicies": 4,
      "patch resourcequotas": 1,
      "patch limitranges": 1,
      "patch serviceaccounts": 3,
      "patch configmaps": 1,
      "create secrets": 4,
      "patch secrets": 3,
      "patch services": 4,
      "patch statefulsets": 2,
      "patch deployments": 1,
      "patch events": 1,
    });
    const total = Object.values(others).reduce((sum, count) => sum + count, statuses);
    expect(total).toBeLessThanOrEqual(REQUESTS_MAX);
  },
  TEST_MS,
);
