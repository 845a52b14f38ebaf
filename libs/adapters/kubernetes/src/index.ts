/** Connects a controller to Kubernetes: requests, watched lists, a work queue, leader election and events. */
export * from "./api-error.js";
export {
  type ApplyOptions,
  connectKubernetes,
  type DeleteOptions,
  type KubernetesCallOptions,
  KubernetesClient,
  type KubernetesList,
  type KubernetesVerb,
  type ListOptions,
  type PatchOperation,
  type RequestObserver,
} from "./client.js";
export { CLUSTER_EVENTS_NAMESPACE, type EventDetails, EventRecorder, type EventSource } from "./events.js";
export { LeaseLeadership, type LeaseLeadershipOptions } from "./leadership.js";
export {
  type ChangeListener,
  keyOf,
  type ObjectCache,
  Reflector,
  type ReflectorOptions,
  type ReflectorPorts,
  type WatchEnd,
} from "./reflector.js";
export { type KubeObject, type MetadataOnly, pathOf, type Resource, resourceOf, resources, SNAPSHOTS } from "./resource.js";
export { type AcquiredKey, PRIORITIES, type Priority, WorkQueue, type WorkQueueOptions } from "./work-queue.js";
