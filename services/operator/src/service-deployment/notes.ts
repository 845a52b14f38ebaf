/**
 * Writes annotations of ReplicaSets. Each group is written as a whole by a field manager of its own, so that writing one never removes
 * another.
 */
import type { ServiceDeployment } from "@perdure/custom-resources";
import { type KubernetesClient, resources } from "@perdure/kubernetes";
import { MANAGER } from "../applier.js";
import { DEPLOYMENT_ID, REGISTERED_AT, REMOVE_AFTER, SUPERSEDED_AT } from "./names.js";
import type { OwnSets } from "./own-sets.js";
import { type RegisterTarget, type ServiceVersion, timeText } from "./version.js";

export interface VersionNotePorts {
  readonly client: KubernetesClient;
  readonly ownSets: OwnSets;
}

interface DrainNote {
  readonly supersededAtMs: number | undefined;
  readonly removeAfterMs: number | undefined;
}

type Texts = Readonly<Record<string, string>>;

/**
 * Stores the deployment and the address of a version on its ReplicaSet. Rejects with the API server's error, with 409 when the ReplicaSet
 * was replaced.
 */
export function noteRegistration(
  deployment: ServiceDeployment,
  version: Pick<ServiceVersion, "name" | "uid">,
  registration: { readonly id: string; readonly at: RegisterTarget } | undefined,
  ports: VersionNotePorts,
  signal: AbortSignal,
): Promise<void> {
  const texts: Texts =
    registration === undefined ? {} : { [DEPLOYMENT_ID]: registration.id, [REGISTERED_AT]: JSON.stringify(registration.at) };
  return write(deployment, version, `${MANAGER}-registration`, texts, ports, signal);
}

/** Stores the progress of the version's draining; removes it when both are undefined. */
export function noteDrain(
  deployment: ServiceDeployment,
  version: Pick<ServiceVersion, "name" | "uid">,
  { supersededAtMs, removeAfterMs }: DrainNote,
  ports: VersionNotePorts,
  signal: AbortSignal,
): Promise<void> {
  const texts: Texts = {
    ...(supersededAtMs === undefined ? {} : { [SUPERSEDED_AT]: timeText(supersededAtMs) }),
    ...(removeAfterMs === undefined ? {} : { [REMOVE_AFTER]: timeText(removeAfterMs) }),
  };
  return write(deployment, version, `${MANAGER}-drain`, texts, ports, signal);
}

async function write(
  { metadata }: ServiceDeployment,
  { name, uid }: Pick<ServiceVersion, "name" | "uid">,
  manager: string,
  annotations: Texts,
  { client, ownSets }: VersionNotePorts,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind } = resources.replicaSets;
  const own = { name, uid, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) };
  ownSets.note(await client.apply({ apiVersion, kind, metadata: { ...own, annotations } }, { manager, force: true, signal }));
}
