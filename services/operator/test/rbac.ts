/**
 * The RBAC rules of the operator, and no more. A test compares the chart's roles with these, and the operator's suites run as a user with
 * only these rights (kubernetes.md §3.6).
 */
interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Fixed name: the operator may bind this role, and no other. */
export const SECRETS_ROLE = "perdure-operator-secrets";

/** Fixed name: bound in the namespace of an environment when its data are to be deleted, and in no other. */
export const REMOVAL_ROLE = "perdure-operator-removal";

const READ = ["get", "list", "watch"];
const KEEP = [...READ, "create", "patch", "delete"];
const OWN = ["environments", "servicedeployments", "cloudenvironments"];

/** Rules in the whole cluster. */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: ["perdure.dev"], resources: OWN, verbs: [...READ, "patch"] },
  { apiGroups: ["perdure.dev"], resources: OWN.map((plural) => `${plural}/status`), verbs: ["patch"] },
  { apiGroups: ["perdure.dev"], resources: OWN.map((plural) => `${plural}/finalizers`), verbs: ["update"] },
  {
    apiGroups: [""],
    resources: ["services", "serviceaccounts", "configmaps", "resourcequotas", "limitranges"],
    verbs: KEEP,
  },
  { apiGroups: ["apps"], resources: ["statefulsets", "deployments", "replicasets"], verbs: KEEP },
  { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: KEEP },
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: KEEP },
  { apiGroups: ["autoscaling"], resources: ["horizontalpodautoscalers"], verbs: KEEP },
  // No deletion of namespaces or volumes: that takes the removal role, bound only where a spec requests that data is deleted.
  { apiGroups: [""], resources: ["namespaces", "persistentvolumeclaims"], verbs: [...READ, "create", "patch"] },
  { apiGroups: [""], resources: ["persistentvolumes"], verbs: ["get", "patch"] },
  { apiGroups: [""], resources: ["pods"], verbs: READ },
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: OWN.map((plural) => `${plural}.perdure.dev`),
    verbs: ["get"],
  },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["get", "create", "patch"] },
  { apiGroups: ["rbac.authorization.k8s.io"], resources: ["rolebindings"], verbs: ["get", "create", "patch"] },
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    resourceNames: [SECRETS_ROLE, REMOVAL_ROLE],
    verbs: ["bind"],
  },
];

/** Rules in namespaces of environments, by a binding that the operator makes there. */
export const secretsRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "patch"] },
];

/** Cluster-wide, unless snapshots are off; without effect where the API is not served. */
export const snapshotRules: readonly PolicyRule[] = [
  { apiGroups: ["snapshot.storage.k8s.io"], resources: ["volumesnapshots"], verbs: KEEP },
  { apiGroups: ["snapshot.storage.k8s.io"], resources: ["volumesnapshotcontents"], verbs: ["get", "create", "patch"] },
];

/** Cluster-wide, unless KEDA is off; without effect where it is not installed. */
export const kedaRules: readonly PolicyRule[] = [{ apiGroups: ["keda.sh"], resources: ["scaledobjects"], verbs: KEEP }];

/** Bound by the operator in the namespace of an environment when its data is to be deleted. */
export const removalRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["namespaces", "persistentvolumeclaims"], verbs: ["delete"] },
];

/** Rules in the operator's own namespace. */
export const ownNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
  { apiGroups: [""], resources: ["secrets"], verbs: READ },
];
