/** Why: a claim that is deleted by anybody takes its volume along, unless the volume itself says that it stays. */
import { type Environment, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, resources } from "@perdure/driver-kubernetes";
import { MANAGER } from "../applier.js";

/** On a volume: the environment that it was retained from. */
export const RETAINED_FROM = "perdure.dev/retained-from";

interface Claim extends KubeObject {
  readonly spec?: { readonly volumeName?: string };
}

interface Volume extends KubeObject {
  readonly spec?: { readonly persistentVolumeReclaimPolicy?: string };
}

export interface Retained {
  readonly claims: readonly string[];
  readonly volumes: readonly string[];
}

/** Volumes of all claims of the environment outlive their claims from now on. Rejects as the API server says. */
export async function keepVolumes(environment: Environment, client: KubernetesClient, signal: AbortSignal): Promise<Retained> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const { items } = await client.list<Claim>(resources.volumeClaims, { namespace, signal });
  const volumes: string[] = [];
  for (const { spec } of items) {
    if (spec?.volumeName === undefined) continue; // It never got one.
    const found = await client.find<Volume>(resources.volumes, spec.volumeName, undefined, { signal });
    if (found === undefined) continue;
    volumes.push(spec.volumeName);
    const isKept = found.spec?.persistentVolumeReclaimPolicy === "Retain" && found.metadata.labels?.[RETAINED_FROM] !== undefined;
    if (!isKept) await keep(spec.volumeName, environment, client, signal);
  }
  return { claims: items.map(({ metadata }) => metadata.name), volumes };
}

async function keep(name: string, environment: Environment, client: KubernetesClient, signal: AbortSignal): Promise<void> {
  const { apiVersion, kind } = resources.volumes;
  const metadata = { name, labels: { [RETAINED_FROM]: environment.metadata.name } };
  const spec = { persistentVolumeReclaimPolicy: "Retain" };
  await client.apply({ apiVersion, kind, metadata, spec }, { manager: MANAGER, force: true, signal });
}
