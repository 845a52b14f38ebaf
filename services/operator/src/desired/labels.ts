/** Labels and owner references that all objects of an environment share, to find them and to delete them with it (kubernetes.md §2). */
import { bareIdOf, ENVIRONMENT_LABEL, type EnvironmentResource, GROUP_VERSION, objectNameOf } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import type { Labels } from "../cell.js";

export const MANAGED_BY = "perdure-operator";
/** Label selector of the objects that the operator created. */
export const MANAGED_SELECTOR = `app.kubernetes.io/managed-by=${MANAGED_BY}`;
export const COMPONENT = "app.kubernetes.io/component";
/**
 * Annotation of an environment that is created again under an id whose data were kept or deleted; its value is the uid of the note about
 * them.
 */
export const ADOPT_ANNOTATION = "perdure.dev/adopt-retained";

export type Component = "worker" | "front" | "redis" | "environment";

export function labelsOf({ spec }: EnvironmentResource, component: Component): Labels {
  return {
    "app.kubernetes.io/name": "perdure-runtime",
    "app.kubernetes.io/instance": objectNameOf(spec.environmentId),
    [COMPONENT]: component,
    "app.kubernetes.io/managed-by": MANAGED_BY,
    [ENVIRONMENT_LABEL]: bareIdOf(spec.environmentId),
  };
}

/** Selectors never change, so they hold only what never changes. */
export function selectorOf(environment: EnvironmentResource, component: Component): Labels {
  return { [ENVIRONMENT_LABEL]: bareIdOf(environment.spec.environmentId), [COMPONENT]: component };
}

/** Labels of pods: theirs first, ours win. */
export function podLabelsOf(environment: EnvironmentResource, component: Component): Labels {
  const { podLabels } = environment.spec.workers;
  const version = { "app.kubernetes.io/version": environment.spec.version };
  return { ...podLabels, ...labelsOf(environment, component), ...version };
}

interface ChildObjectOptions {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly component?: Component;
  /** False for what must outlive the environment. */
  readonly isOwned?: boolean;
  readonly annotations?: Labels | undefined;
}

/** An object in the environment's namespace. */
export function childOf(
  environment: EnvironmentResource,
  options: ChildObjectOptions,
  content: Readonly<Record<string, unknown>>,
): KubeObject {
  const { apiVersion, kind, name, component = "environment", isOwned = true, annotations } = options;
  const { name: ownerName, uid = "" } = environment.metadata;
  const owner = {
    apiVersion: GROUP_VERSION,
    kind: "Environment",
    name: ownerName,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace: objectNameOf(environment.spec.environmentId),
      labels: labelsOf(environment, component),
      ...(annotations === undefined || Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(isOwned ? { ownerReferences: [owner] } : {}),
    },
    ...content,
  };
}

/** Removes undefined fields: the API server would drop or refuse them, and each pass would find a difference. */
export function given<T extends Readonly<Record<string, unknown>>>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
