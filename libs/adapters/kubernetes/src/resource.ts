/** Kinds by their path in the API server: the built-in ones that we use, and our own. */
import { GROUP_VERSION, type ObjectMeta } from "@perdure/custom-resources";

export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
}

/** Any object, as its JSON has it. The typed models of client libraries drop fields that they do not declare, so they are not used here. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** Kind, name and uid: the part of an object that identifies it. */
export type ObjectIdentity = Pick<KubeObject, "apiVersion" | "kind" | "metadata">;

/** Metadata that all objects have: enough to see that something changed. */
export type MetadataOnly = Pick<KubeObject, "metadata">;

const define = (apiVersion: string, kind: string, plural: string, isNamespaced = true): Resource => ({
  apiVersion,
  kind,
  plural,
  isNamespaced,
});

/** Served only where the snapshot CRDs are installed. */
const SNAPSHOTS = "snapshot.storage.k8s.io/v1";

export const resources = {
  namespaces: define("v1", "Namespace", "namespaces", false),
  configMaps: define("v1", "ConfigMap", "configmaps"),
  secrets: define("v1", "Secret", "secrets"),
  services: define("v1", "Service", "services"),
  serviceAccounts: define("v1", "ServiceAccount", "serviceaccounts"),
  pods: define("v1", "Pod", "pods"),
  volumeClaims: define("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
  volumes: define("v1", "PersistentVolume", "persistentvolumes", false),
  volumeSnapshots: define(SNAPSHOTS, "VolumeSnapshot", "volumesnapshots"),
  snapshotContents: define(SNAPSHOTS, "VolumeSnapshotContent", "volumesnapshotcontents", false),
  resourceQuotas: define("v1", "ResourceQuota", "resourcequotas"),
  limitRanges: define("v1", "LimitRange", "limitranges"),
  statefulSets: define("apps/v1", "StatefulSet", "statefulsets"),
  deployments: define("apps/v1", "Deployment", "deployments"),
  replicaSets: define("apps/v1", "ReplicaSet", "replicasets"),
  networkPolicies: define("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
  disruptionBudgets: define("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
  autoscalers: define("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
  scaledObjects: define("keda.sh/v1alpha1", "ScaledObject", "scaledobjects"),
  roleBindings: define("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
  leases: define("coordination.k8s.io/v1", "Lease", "leases"),
  events: define("events.k8s.io/v1", "Event", "events"),
  definitions: define("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false),
  environments: define(GROUP_VERSION, "Environment", "environments", false),
  serviceDeployments: define(GROUP_VERSION, "ServiceDeployment", "servicedeployments"),
  cloudEnvironments: define(GROUP_VERSION, "CloudEnvironment", "cloudenvironments", false),
} as const satisfies Readonly<Record<string, Resource>>;

const BY_KIND: ReadonlyMap<string, Resource> = new Map(
  Object.values(resources).map((resource) => [`${resource.apiVersion}/${resource.kind}`, resource]),
);

/** Throws for a kind that is not on our list. */
export function resourceOf({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): Resource {
  const resource = BY_KIND.get(`${apiVersion}/${kind}`);
  if (resource === undefined) throw new TypeError(`${apiVersion} ${kind} is not a supported kind`);
  return resource;
}

/** Path of all objects of a kind, of those of a namespace, or of one object. The API server validates names; they are encoded here. */
export function pathOf({ apiVersion, plural }: Resource, namespace?: string, name?: string, subresource?: string): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const parts = [namespace === undefined ? undefined : `namespaces/${encodeURIComponent(namespace)}`, plural];
  if (name !== undefined) parts.push(encodeURIComponent(name));
  if (subresource !== undefined) parts.push(subresource);
  return [group, ...parts.filter((part) => part !== undefined)].join("/");
}
