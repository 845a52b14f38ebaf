/**
 * Pod disruption budgets, so that draining a node does not interrupt an environment. A budget on a single pod would block the drain for
 * ever.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { type Component, childOf, selectorOf } from "./labels.js";
import { redisPods } from "./redis.js";
import { desiredWorkers } from "./sizes.js";
import { frontReplicas } from "./workers.js";

export function disruptionBudgets(environment: EnvironmentResource): KubeObject[] {
  const { autoscaling } = environment.spec.workers;
  const workers = environment.spec.suspended ? 0 : (autoscaling?.min ?? desiredWorkers(environment));
  const pods: readonly (readonly [Component, number])[] = [
    ["worker", workers],
    ["front", frontReplicas(environment)],
    ["redis", environment.spec.suspended ? 0 : redisPods(environment)],
  ];
  return pods
    .filter(([, count]) => count > 1)
    .map(([component]) =>
      childOf(
        environment,
        { ...resources.disruptionBudgets, name: component, component },
        {
          spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(environment, component) } },
        },
      ),
    );
}
