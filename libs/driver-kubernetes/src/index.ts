/** Why: everything a controller needs of an API server, and nothing of what it is for. */
export * from "./api-error.js";
export {
  type ApplyOptions,
  type KubernetesCallOptions,
  connectKubernetes,
  type DeleteOptions,
  KubernetesClient,
  type KubernetesList,
  type ListOptions,
  type PatchOperation,
  type RequestObserver,
  type KubernetesVerb,
} from "./client.js";
export { CLUSTER_EVENTS_NAMESPACE, EventRecorder, type EventSource, type EventDetails } from "./events.js";
export { LeaseLeadership, type LeaseLeadershipOptions } from "./leadership.js";
export {
  type ChangeListener,
  keyOf,
  type ObjectCache,
  Reflector,
  type ReflectorOptions,
  type ReflectorPorts,
  type WatchEnd,
  waitFor,
} from "./reflector.js";
export { type KubeObject, type MetadataOnly, pathOf, type Resource, resourceOf, resources, SNAPSHOTS } from "./resource.js";
export { PRIORITIES, type Priority, type AcquiredKey, WorkQueue, type WorkQueueOptions } from "./work-queue.js";
