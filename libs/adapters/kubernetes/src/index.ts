/** Connects a controller to Kubernetes: requests, watched lists, a work queue, leader election and events. */
export * from "./api-error.js";
export {
  type ApplyOptions,
  connectKubernetes,
  type KubernetesCallOptions,
  KubernetesClient,
  type RequestObserver,
} from "./client.js";
export { CLUSTER_EVENTS_NAMESPACE, EventRecorder } from "./events.js";
export { LeaseLeadership } from "./leadership.js";
export { type ChangeListener, keyOf, type ObjectCache, Reflector, type ReflectorPorts, type WatchEnd } from "./reflector.js";
export {
  type KubeObject,
  type MetadataOnly,
  type ObjectIdentity,
  pathOf,
  type Resource,
  resourceOf,
  resources,
} from "./resource.js";
export { type AcquiredKey, PRIORITIES, type Priority, WorkQueue, type WorkQueueOptions } from "./work-queue.js";
