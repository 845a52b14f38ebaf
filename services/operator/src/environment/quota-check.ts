/**
 * Explains missing pods by the quota of the namespace: when it is used up, pods are not created, and their controllers' objects do not show
 * why. The quota is the sum of what the spec requests, so other pods in the namespace are the cause.
 */
import { type EnvironmentResource, type Observation, objectNameOf } from "@perdure/custom-resources";
import { frontRequests, quantityOf } from "../desired/sizes.js";
import { workerRequests } from "../desired/workers.js";
import type { Quota } from "../observed-objects.js";
import type { Rollout } from "./observe.js";

/** Undefined when pods exist, or would be admitted. */
export function quotaProblem(
  environment: EnvironmentResource,
  wanting: readonly (Rollout | undefined)[],
  quota: Quota | undefined,
): Observation | undefined {
  if (!wanting.some((one) => (one?.status?.replicas ?? 0) < (one?.spec?.replicas ?? 0))) return undefined;
  const namespace = objectNameOf(environment.spec.environmentId);
  const short = shortOf(quota?.status ?? {}, environment);
  if (short.length === 0) return undefined;
  const message = `pods are not made: the quota of namespace ${namespace} has no more ${short.join(", ")}`;
  return { type: "QuotaExceeded", status: "True", reason: "UsedUp", message };
}

/** The resources that do not suffice for one more pod of the smallest kind. */
function shortOf({ hard = {}, used = {} }: NonNullable<Quota["status"]>, environment: EnvironmentResource): readonly string[] {
  const worker = workerRequests(environment);
  const front = frontRequests(environment);
  const needs: Readonly<Record<string, number>> = {
    pods: 1,
    "requests.cpu": Math.min(quantityOf(worker.cpu), quantityOf(front.cpu)),
    "requests.memory": Math.min(quantityOf(worker.memory), quantityOf(front.memory)),
  };
  return Object.entries(needs)
    .filter(([name, need]) => {
      const [limit, usage] = [hard[name], used[name]];
      return limit !== undefined && usage !== undefined && quantityOf(usage) + need > quantityOf(limit);
    })
    .map(([name]) => name);
}
