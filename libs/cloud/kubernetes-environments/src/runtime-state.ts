/** The state of a runtime, from what the operator reports of its Environment. Pure, so that each case has a test. */
import type { RuntimeState, Upstream } from "@perdure/cloud";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { GENERATION_ANNOTATION, REMOVED } from "./desired-environment.js";
import { REASON_CHARS_MAX } from "./limits.js";

/** Reasons that waiting does not resolve: the desired state, the cell or the cluster must change first. */
const FINAL: ReadonlySet<string> = new Set([
  "WrongRegion",
  "UnknownVersion",
  "VersionSkip",
  "Downgrade",
  "NewerSchema",
  "NotOwned",
  "RetainedData",
  "Invalid",
  "Forbidden",
  "PolicyDisabled",
]);
/** Reasons of an environment without running processes, as desired; the gateway answers its clients or wakes it. */
const AT_REST: ReadonlySet<string> = new Set(["Suspended", "Hibernating", "Hibernated"]);

const INGRESS_PORT = 8080;
const ADMIN_PORT = 9070;

/**
 * Generation of the desired state that the object was written for. Undefined when tenancy did not write the object or it is being deleted.
 */
export function appliedGenerationOf({ metadata }: EnvironmentResource): number | undefined {
  const { annotations = {}, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined || annotations[REMOVED] === "yes") return undefined;
  const generation = Number(annotations[GENERATION_ANNOTATION]);
  return Number.isSafeInteger(generation) && generation > 0 ? generation : undefined;
}

export interface PendingGeneration {
  readonly generation: number;
  /** `metadata.generation` of the object right after the desired state was written. */
  readonly objectGeneration: number;
}

/** Whether the local copy of the cluster is at least as new as the pending generation. */
export function isIn({ generation, objectGeneration }: PendingGeneration, environment: EnvironmentResource | undefined): boolean {
  if (environment === undefined) return false;
  const appliedGeneration = appliedGenerationOf(environment);
  return (
    appliedGeneration !== undefined &&
    appliedGeneration >= generation &&
    (environment.metadata.generation ?? 0) >= objectGeneration
  );
}

/** State of the runtime, for the generation of the desired state that the object was written for. */
export function runtimeStateOf({ metadata, status }: EnvironmentResource, generation: number, clusterDns: string): RuntimeState {
  const { conditions = [], observedGeneration = 0 } = status ?? {};
  const ready = conditions.find(({ type }) => type === "Ready");
  // The status of the operator still describes an older spec.
  if (ready === undefined || observedGeneration < (metadata.generation ?? 0)) return { phase: "starting", generation };
  if (ready.status === "True" || AT_REST.has(ready.reason)) {
    return { phase: "ready", generation, upstream: upstreamOf(metadata.name, clusterDns) };
  }
  const final = conditions.find((one) => one.status === "False" && FINAL.has(one.reason));
  if (final === undefined) return { phase: "starting", generation };
  return { phase: "failed", generation, reason: `${final.reason}: ${final.message}`.slice(0, REASON_CHARS_MAX) };
}

/** Reached by the gateway's pods alone: network policies see to it, and there is no secret. */
function upstreamOf(namespace: string, clusterDns: string): Upstream {
  const host = `runtime.${namespace}.svc.${clusterDns}`;
  return { ingress: `http://${host}:${INGRESS_PORT}`, admin: `http://${host}:${ADMIN_PORT}` };
}
