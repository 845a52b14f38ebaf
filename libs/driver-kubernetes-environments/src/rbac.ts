/** Why: what an API server must allow tenancy, and no more; charts say the same, and the suite runs with exactly this. */

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** For the whole cluster: environments belong to no namespace. */
export const platformRules: readonly PolicyRule[] = [
  { apiGroups: ["perdure.dev"], resources: ["environments"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
];

/** In the operator's namespace: signing keys are written there, and never read again. */
export const namespaceRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["secrets"], verbs: ["create", "patch", "delete"] },
];
