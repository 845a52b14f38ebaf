/** The namespace of an environment, its boundary. It has no owner: only the last step of the finalizer may delete it. */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import type { Cell } from "../cell.js";
import { childOf, labelsOf } from "./labels.js";

/** Role binding that gives the operator access to the Secrets of a namespace. */
export const SECRETS_BINDING = "operator-secrets";

export function namespaceOf(environment: EnvironmentResource): KubeObject {
  const { apiVersion, kind } = resources.namespaces;
  const policy = "pod-security.kubernetes.io";
  const labels = {
    ...labelsOf(environment, "environment"),
    [`${policy}/enforce`]: "restricted",
    [`${policy}/warn`]: "restricted",
  };
  return { apiVersion, kind, metadata: { name: objectNameOf(environment.spec.environmentId), labels } };
}

/** Lets the operator at the Secrets of this namespace, and of no other; undefined where it needs no leave. */
export function secretsBinding(environment: EnvironmentResource, { secretsRole }: Cell): KubeObject | undefined {
  return secretsRole === undefined ? undefined : bindingOf(environment, SECRETS_BINDING, secretsRole);
}

/** Lets the operator remove this namespace with its volumes, and no other; undefined as above. */
export function removalBinding(environment: EnvironmentResource, { removalRole }: Cell): KubeObject | undefined {
  return removalRole === undefined ? undefined : bindingOf(environment, "operator-removal", removalRole);
}

function bindingOf(
  environment: EnvironmentResource,
  name: string,
  { clusterRole, subject }: NonNullable<Cell["secretsRole"]>,
): KubeObject {
  const apiGroup = "rbac.authorization.k8s.io";
  const named = subject.kind === "User" ? { ...subject, apiGroup } : subject;
  const roleRef = { apiGroup, kind: "ClusterRole", name: clusterRole };
  return childOf(environment, { ...resources.roleBindings, name, isOwned: false }, { roleRef, subjects: [named] });
}

export function serviceAccounts(environment: EnvironmentResource): KubeObject[] {
  const { serviceAccountAnnotations } = environment.spec.security;
  return (["worker", "front", "redis"] as const).map((name) =>
    childOf(
      environment,
      {
        ...resources.serviceAccounts,
        name,
        component: name,
        annotations: name === "redis" ? undefined : serviceAccountAnnotations,
      },
      { automountServiceAccountToken: false },
    ),
  );
}
