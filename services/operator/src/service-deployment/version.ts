/** Reads the versions of one service from the cluster: the sets, how far each is, and the annotations on them. */
import { type ServiceDeployment, type ServiceDeploymentSpec, serviceDeploymentSpec } from "@perdure/custom-resources";
import type { ObjectCache } from "@perdure/kubernetes";
import type { Workload } from "../observed-objects.js";
import { DEPLOYMENT_ID, REGISTERED_AT, REMOVE_AFTER, SUPERSEDED_AT, shortOf, TEMPLATE } from "./names.js";

export type RegisterTarget = ServiceDeploymentSpec["perdure"]["register"];

export interface ServiceVersion {
  /** Name of its ReplicaSet, Service and autoscaler. */
  readonly name: string;
  readonly uid: string;
  /** The short one of names. */
  readonly hash: string;
  readonly createdAtMs: number;
  /** Id in the environment of `registeredAt`; undefined before it was registered. */
  readonly deploymentId: string | undefined;
  readonly registeredAt: RegisterTarget | undefined;
  readonly supersededAtMs: number | undefined;
  readonly removeAfterMs: number | undefined;
  /** Numbers of pods: requested, existing, ready, and ready for long enough. */
  readonly requested: number;
  readonly replicas: number;
  readonly ready: number;
  readonly available: number;
}

/** Newest first; those that are going already are none. */
export function versionsOf(
  { metadata }: ServiceDeployment,
  sets: Pick<ObjectCache<Workload>, "values">,
): readonly ServiceVersion[] {
  const own: ServiceVersion[] = [];
  for (const set of sets.values()) {
    const isOwned = set.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
    if (isOwned && set.metadata.deletionTimestamp === undefined) own.push(versionOf(set));
  }
  return own.sort((one, other) => other.createdAtMs - one.createdAtMs || (one.name < other.name ? -1 : 1));
}

function versionOf({ metadata, spec, status }: Workload): ServiceVersion {
  const { name, uid = "", annotations = {}, creationTimestamp } = metadata;
  return {
    name,
    uid,
    hash: shortOf(annotations[TEMPLATE] ?? ""),
    createdAtMs: timeOf(creationTimestamp) ?? 0,
    deploymentId: annotations[DEPLOYMENT_ID],
    registeredAt: registerOf(annotations[REGISTERED_AT]),
    supersededAtMs: timeOf(annotations[SUPERSEDED_AT]),
    removeAfterMs: timeOf(annotations[REMOVE_AFTER]),
    requested: spec?.replicas ?? 1,
    replicas: status?.replicas ?? 0,
    ready: status?.readyReplicas ?? 0,
    available: status?.availableReplicas ?? 0,
  };
}

/** An annotation that is not a valid time (edited by hand) counts as absent. */
function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

function registerOf(text: string | undefined): RegisterTarget | undefined {
  if (text === undefined) return undefined;
  try {
    return serviceDeploymentSpec.shape.perdure.shape.register.safeParse(JSON.parse(text)).data;
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/** RFC 3339 to the second, as Kubernetes writes it. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
