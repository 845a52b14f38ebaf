/**
 * Retains volumes. A deleted claim takes its volume along unless the volume's reclaim policy is `Retain`. Volumes of environments have that
 * policy from the start, so that a namespace or claim that was deleted by mistake can be created again around them. They are deleted only
 * when an environment is deleted with its data.
 */
import type { Clock } from "@perdure/base";
import { bareIdOf, ENVIRONMENT_LABEL, type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, resources } from "@perdure/kubernetes";
import { MANAGER } from "../applier.js";
import { UNSEEN_TRUST_MS } from "../limits.js";

/** Label of a volume whose environment was deleted: the name of that environment. */
const RETAINED_FROM = "perdure.dev/retained-from";
/** Annotation of a volume: the reclaim policy that its storage class gave it, where that was not `Retain`. */
const POLICY_BEFORE = "perdure.dev/reclaim-policy-before";

interface ClaimWithVolume extends KubeObject {
  readonly spec?: { readonly volumeName?: string };
}

interface Volume extends KubeObject {
  readonly spec?: {
    readonly persistentVolumeReclaimPolicy?: string;
    readonly claimRef?: { readonly namespace?: string };
  };
}

interface Retained {
  readonly claims: readonly string[];
  readonly volumes: readonly string[];
}

/** Retains the volumes of existing environments. The state of a volume is cached for `UNSEEN_TRUST_MS`: volumes are not watched. */
export class VolumeRetention {
  readonly #clock: Clock;
  /** Volumes by the name of the environment, then by the name of the volume. */
  readonly #retained = new Map<string, Map<string, { readonly uid: string; readonly atMs: number }>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the uid of the volume, which outlives its claim from now on; undefined when this environment has no such volume. Rejects with
   * the API server's error.
   */
  async retain(
    volume: string,
    environment: EnvironmentResource,
    client: KubernetesClient,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { name } = environment.metadata;
    const volumes = this.#retained.get(name) ?? new Map();
    this.#retained.set(name, volumes);
    const before = volumes.get(volume);
    const nowMs = this.#clock.monotonicMs();
    if (before !== undefined && nowMs - before.atMs < UNSEEN_TRUST_MS) return before.uid;
    const uid = await retainVolume(volume, environment, { client, isLeaving: false }, signal);
    if (uid === undefined) volumes.delete(volume);
    else volumes.set(volume, { uid, atMs: nowMs });
    return uid;
  }

  discard(environment: string): void {
    this.#retained.delete(environment);
  }
}

/** Labels the volumes of an environment that is deleted without its data with its name. Rejects with the API server's error. */
export async function keepVolumes(
  environment: EnvironmentResource,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<Retained> {
  const { claims, volumes } = await volumesOf(environment, client, signal);
  const kept: string[] = [];
  for (const name of volumes) {
    if ((await retainVolume(name, environment, { client, isLeaving: true }, signal)) !== undefined) kept.push(name);
  }
  return { claims, volumes: kept };
}

/**
 * For an environment that is deleted with its data: its volumes follow their claims again, by the policy of their class. Rejects with the
 * API server's error.
 */
export async function releaseVolumes(
  environment: EnvironmentResource,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<void> {
  const { volumes } = await volumesOf(environment, client, signal);
  for (const name of volumes) {
    const existing = await ownVolume(name, environment, client, signal);
    const policy = existing?.metadata.annotations?.[POLICY_BEFORE];
    if (existing === undefined || policy === undefined) continue;
    await apply(existing, environment, { policy, labels: {}, annotations: {} }, client, signal);
  }
}

/** Volumes of its claims, and those that the status records: after a namespace was deleted by hand no claim refers to them. */
async function volumesOf(
  { spec, status }: EnvironmentResource,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<Retained> {
  const namespace = objectNameOf(spec.environmentId);
  const { items } = await client.list<ClaimWithVolume>(resources.volumeClaims, { namespace, signal });
  const bound = items.map((claim) => claim.spec?.volumeName).filter((name) => name !== undefined);
  const recorded = (status?.data?.volumes ?? []).map(({ volume }) => volume);
  return { claims: items.map(({ metadata }) => metadata.name), volumes: [...new Set([...bound, ...recorded])] };
}

async function retainVolume(
  name: string,
  environment: EnvironmentResource,
  { client, isLeaving }: { readonly client: KubernetesClient; readonly isLeaving: boolean },
  signal: AbortSignal,
): Promise<string | undefined> {
  const existing = await ownVolume(name, environment, client, signal);
  if (existing === undefined) return undefined;
  const { uid, labels = {}, annotations = {} } = existing.metadata;
  const policy = existing.spec?.persistentVolumeReclaimPolicy;
  const isKept = policy === "Retain" && labels[ENVIRONMENT_LABEL] !== undefined;
  if (isKept && isLeaving === (labels[RETAINED_FROM] !== undefined)) return uid;
  const before = annotations[POLICY_BEFORE] ?? (policy === "Retain" ? undefined : policy);
  const desired = {
    policy: "Retain",
    labels: isLeaving ? { [RETAINED_FROM]: environment.metadata.name } : {},
    annotations: before === undefined ? {} : { [POLICY_BEFORE]: before },
  };
  await apply(existing, environment, desired, client, signal);
  return uid;
}

/** Undefined when there is none, or it is bound to a claim of another namespace. */
async function ownVolume(
  name: string,
  { spec }: EnvironmentResource,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<Volume | undefined> {
  const existing = await client.find<Volume>(resources.volumes, name, undefined, { signal });
  return existing?.spec?.claimRef?.namespace === objectNameOf(spec.environmentId) ? existing : undefined;
}

interface DesiredVolume {
  readonly policy: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

async function apply(
  { metadata }: Volume,
  { spec: { environmentId } }: EnvironmentResource,
  { policy, labels, annotations }: DesiredVolume,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind } = resources.volumes;
  const { name, uid } = metadata;
  const all = { [ENVIRONMENT_LABEL]: bareIdOf(environmentId), ...labels };
  const object = {
    apiVersion,
    kind,
    metadata: { name, ...(uid === undefined ? {} : { uid }), labels: all, annotations },
    spec: { persistentVolumeReclaimPolicy: policy },
  };
  await client.apply(object, { manager: MANAGER, force: true, signal });
}
