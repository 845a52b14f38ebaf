/**
 * Autoscaling of workers. Workers mostly wait for handlers, so CPU usage is not a measure of their load. The measure is seconds of work that
 * is ready, which an adapter of the cluster serves as an external metric or KEDA queries from Prometheus. Scale-down is slow, because each
 * step moves partitions (kubernetes.md §2).
 */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { childOf } from "./labels.js";

/** Metric of each worker; the autoscaler keeps the sum of an environment divided by its workers at the target. */
const READY_WORK_METRIC = "perdure_worker_ready_queue_seconds";
const STEP_DOWN_SECONDS = 120;
const POLL_SECONDS = 15;

/** Whether an autoscaler sets the number of workers. */
export function isAutoscaled({ spec }: EnvironmentResource): boolean {
  return spec.workers.autoscaling !== undefined && !spec.suspended;
}

const behavior = {
  scaleDown: {
    stabilizationWindowSeconds: STEP_DOWN_SECONDS,
    selectPolicy: "Max",
    policies: [{ type: "Pods", value: 1, periodSeconds: STEP_DOWN_SECONDS }],
  },
};
const target = { apiVersion: "apps/v1", kind: "StatefulSet", name: "worker" };

/** Returns the autoscaler of the engine `hpa`. */
export function autoscaler(environment: EnvironmentResource): KubeObject[] {
  const { autoscaling } = environment.spec.workers;
  if (autoscaling === undefined || autoscaling.engine !== "hpa" || !isAutoscaled(environment)) return [];
  const averageValue = String(autoscaling.targetQueueSecondsPerWorker);
  // External metrics are looked up in the autoscaler's namespace, and it has the workers of one environment only.
  const external = { metric: { name: READY_WORK_METRIC }, target: { type: "AverageValue", averageValue } };
  return [
    childOf(
      environment,
      { ...resources.autoscalers, name: "worker", component: "worker" },
      {
        spec: {
          scaleTargetRef: target,
          minReplicas: autoscaling.min,
          maxReplicas: autoscaling.max,
          metrics: [{ type: "External", external }],
          behavior,
        },
      },
    ),
  ];
}

/** Returns the autoscaler of the engine `keda`; `prometheusAddress` is a URL that KEDA reaches. */
export function scaledObject(environment: EnvironmentResource, prometheusAddress: string): KubeObject[] {
  const { autoscaling } = environment.spec.workers;
  if (autoscaling === undefined || autoscaling.engine !== "keda" || !isAutoscaled(environment)) return [];
  const namespace = objectNameOf(environment.spec.environmentId);
  const metadata = {
    serverAddress: prometheusAddress,
    query: `sum(${READY_WORK_METRIC}{namespace="${namespace}"})`,
    threshold: String(autoscaling.targetQueueSecondsPerWorker),
  };
  return [
    childOf(
      environment,
      { ...resources.scaledObjects, name: "worker", component: "worker" },
      {
        spec: {
          scaleTargetRef: target,
          minReplicaCount: autoscaling.min,
          maxReplicaCount: autoscaling.max,
          pollingInterval: POLL_SECONDS,
          triggers: [{ type: "prometheus", metricType: "AverageValue", metadata }],
          advanced: { horizontalPodAutoscalerConfig: { behavior } },
        },
      },
    ),
  ];
}
