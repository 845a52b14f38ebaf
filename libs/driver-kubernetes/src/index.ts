/** Why: everything a controller needs of an API server, and nothing of what it is for. */
export * from "./api-error.js";
export {
  type ApplyOptions,
  type Call,
  connectKubernetes,
  type DeleteOptions,
  KubernetesClient,
  type Listed,
  type ListOptions,
  type PatchOperation,
  type RequestObserver,
  type Verb,
} from "./client.js";
export { CLUSTER_EVENTS_NAMESPACE, EventRecorder, type EventSource, type Told } from "./events.js";
export { Leadership, type LeadershipOptions } from "./leadership.js";
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
export { PRIORITIES, type Priority, type TakenKey, WorkQueue, type WorkQueueOptions } from "./work-queue.js";
