/** The RBAC rules that tenancy needs, and no more. The charts contain the same rules, and the suites run with exactly these. */

interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Rules for the whole cluster, because environments belong to no namespace. */
export const platformRules: readonly PolicyRule[] = [
  { apiGroups: ["perdure.dev"], resources: ["environments"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
];

/** Rules in the operator's namespace: signing keys are written there and never read again. */
export const namespaceRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["create", "patch", "delete"] },
];
