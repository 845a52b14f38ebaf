/** The status of a service, for users and autoscalers, as a function of the facts of one pass. */
import type { Observation, ServiceDeployment, ServiceDeploymentStatus } from "@perdure/custom-resources";
import { STATUS_VERSIONS_MAX } from "../limits.js";
import { selectorOf, selectorText } from "./desired.js";
import type { Drained } from "./drain.js";
import { type ServiceVersion, timeText } from "./version.js";

export interface ServiceFacts {
  readonly hash: string;
  readonly collisionCount: number;
  /** Undefined before its ReplicaSet exists in the local copy. */
  readonly latest: ServiceVersion | undefined;
  readonly deploymentId: string | undefined;
  readonly registered: Observation;
  /** Still called, because the latest is not registered yet. */
  readonly serving: readonly ServiceVersion[];
  readonly drained: readonly Drained[];
  readonly nowMs: number;
}

export function conditionsOf({ spec }: ServiceDeployment, { latest, registered, drained, nowMs }: ServiceFacts): Observation[] {
  const available = latest?.available ?? 0;
  const isAvailable = latest !== undefined && latest.requested === spec.replicas && available >= spec.replicas;
  const availability: Observation = {
    type: "Available",
    status: isAvailable ? "True" : "False",
    reason: isAvailable ? "MinimumReplicasAvailable" : "RollingOut",
    message: isAvailable ? "" : `${available} of ${spec.replicas} pods of the latest version are available`,
  };
  const leaving = drained.filter(({ state }) => state === "Draining" || state === "Idle");
  const whys = drained.map(({ why }) => why).filter((why) => why !== "");
  const draining: Observation = {
    type: "Draining",
    status: leaving.length > 0 ? "True" : "False",
    reason: leaving.length === 0 ? "Complete" : leaving.some(({ state }) => state === "Draining") ? "InUse" : "Idle",
    message: whys.join("; "),
  };
  const { maxDrainSeconds } = spec.perdure;
  const stuck = leaving.filter(
    ({ state, version }) =>
      state === "Draining" && maxDrainSeconds !== undefined && nowMs - (version.supersededAtMs ?? nowMs) > maxDrainSeconds * 1000,
  );
  const drainStuck: Observation = {
    type: "DrainStuck",
    status: stuck.length > 0 ? "True" : "False",
    reason: stuck.length > 0 ? "MaxDrainExceeded" : "InTime",
    message: stuck.map(({ version, why }) => (why === "" ? version.hash : why)).join("; "),
  };
  const missing = [registered, availability].find(({ status }) => status !== "True");
  const ready: Observation =
    missing === undefined
      ? { type: "Ready", status: "True", reason: "Ready", message: "" }
      : { type: "Ready", status: "False", reason: missing.reason, message: missing.message };
  return [availability, registered, draining, drainStuck, ready];
}

/** Status without conditions, which depend on the previous status. */
export function statusOf(deployment: ServiceDeployment, facts: ServiceFacts): Omit<ServiceDeploymentStatus, "conditions"> {
  const { hash, latest, drained, serving, deploymentId, collisionCount } = facts;
  const leaving = drained.filter(({ state }) => state === "Draining" || state === "Idle");
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: latest?.replicas ?? 0,
    updatedReplicas: latest?.replicas ?? 0,
    readyReplicas: latest?.ready ?? 0,
    availableReplicas: latest?.available ?? 0,
    drainingVersions: leaving.length,
    labelSelector: selectorText(selectorOf(deployment, hash)),
    ...(deploymentId === undefined ? {} : { deploymentId }),
    ...(collisionCount === 0 ? {} : { collisionCount }),
    versions: versionStatuses(facts, [...(latest === undefined ? [] : [latest]), ...serving])
      .concat(
        drained
          .filter(({ state }) => state !== "Gone")
          .map(({ version, state, active, removeAfterMs }) => ({
            ...versionStatusOf(version),
            state: state === "Gone" ? "Retired" : state,
            ...(active === undefined ? {} : { activeInvocations: active }),
            ...(removeAfterMs === undefined ? {} : { removeAfter: timeText(removeAfterMs) }),
          })),
      )
      .slice(0, STATUS_VERSIONS_MAX),
  };
}

type VersionStatus = NonNullable<ServiceDeploymentStatus["versions"]>[number];

function versionStatuses({ latest, deploymentId }: ServiceFacts, versions: readonly ServiceVersion[]): VersionStatus[] {
  return versions.map((version) => ({
    ...versionStatusOf(version),
    ...(version === latest && deploymentId !== undefined ? { deploymentId } : {}),
    state: "Latest",
  }));
}

function versionStatusOf({
  hash,
  deploymentId,
  replicas,
}: ServiceVersion): Pick<VersionStatus, "hash" | "deploymentId" | "replicas"> {
  return { hash, replicas, ...(deploymentId === undefined ? {} : { deploymentId }) };
}
