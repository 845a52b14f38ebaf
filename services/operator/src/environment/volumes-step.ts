/**
 * Detects lost volumes: an empty volume in place of the one with the data looks like a new environment. The status of an environment that
 * was ready records the volumes with its data. When one of them is no longer bound, and no other one either, Redis stays stopped until the
 * spec accepts the loss with the mark in the condition (`acceptDataLoss`), or the volume is bound again.
 */
import type { Clock } from "@perdure/base";
import {
  type EnvironmentResource,
  type EnvironmentResourceStatus,
  type Observation,
  objectNameOf,
} from "@perdure/custom-resources";
import { type EventRecorder, type KubernetesClient, resources } from "@perdure/kubernetes";
import { MANAGER, type ObjectApplier } from "../applier.js";
import type { Caches } from "../caches.js";
import { redisClaims } from "../desired/redis.js";
import { hashOf } from "../desired/runtime-config.js";
import { WAIT_LOSS_MS, WAIT_SOON_MS } from "../limits.js";
import { parseVolumeClaim, type VolumeClaim } from "../observed-objects.js";
import { type AcceptedDataLoss, acceptedNow } from "./data-loss-step.js";
import { bad, good, type StepOutcome } from "./outcome.js";
import type { VolumeRetention } from "./retained-volumes.js";

const TYPE = "StorageReady";

type VolumeRecord = NonNullable<NonNullable<EnvironmentResourceStatus["data"]>["volumes"]>[number];

interface VolumesPorts {
  readonly client: KubernetesClient;
  readonly caches: Pick<Caches, "volumeClaims" | "statefulSets">;
  readonly applier: Pick<ObjectApplier, "discardObject">;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly retention: VolumeRetention;
}

export interface VolumesResult {
  /** Outcome of the step. When it is not good, Redis must not be created. */
  readonly outcome: StepOutcome;
  /** Volumes for the status to record while the environment has data. */
  readonly records: readonly VolumeRecord[];
  readonly isLost: boolean;
  readonly accepted: AcceptedDataLoss;
  readonly problems: readonly Observation[];
}

/** Rejects with the API server's error. */
export async function volumesStep(
  environment: EnvironmentResource,
  ports: VolumesPorts,
  signal: AbortSignal,
): Promise<VolumesResult> {
  const recorded = environment.status?.data?.volumes ?? [];
  const base = { records: recorded, isLost: false, accepted: undefined, problems: [] };
  if (environment.spec.redis.bundled === undefined) return { ...base, records: [], outcome: good(TYPE, "External") };
  let claims = boundClaims(environment, (name, namespace) => ports.caches.volumeClaims.get(name, namespace));
  let records = await recordsOf(environment, claims, ports, signal);
  if (isLost(recorded, records)) {
    // The local copy may be older than the cluster, and lacks claims without our labels: nothing is stopped before the API server confirms
    // the loss.
    claims = await readClaims(environment, ports.client, signal);
    records = await recordsOf(environment, claims, ports, signal);
  }
  const problems = claims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).map(deleting);
  if (!isLost(recorded, records)) return { ...base, records, problems, outcome: good(TYPE, "Bound") };
  const mark = lossMarkOf(recorded);
  if (environment.spec.acceptDataLoss !== mark) {
    await stopRedis(environment, ports, signal);
    return { ...base, problems, isLost: true, outcome: bad(TYPE, "DataLost", lostMessage(recorded, mark), WAIT_LOSS_MS) };
  }
  const accepted = await acceptedNow(environment, `the volumes ${namesOf(recorded)}`, mark, ports);
  const message = "the loss of the volumes was accepted: Redis begins with what is bound now";
  return { ...base, records: [], isLost: true, accepted, problems, outcome: bad(TYPE, "VolumePending", message, WAIT_SOON_MS) };
}

/** The value of `acceptDataLoss` that accepts the loss of these volumes. */
const lossMarkOf = (records: readonly VolumeRecord[]): string => hashOf(records.map(({ uid }) => uid).toSorted());

/** Whether none of the volumes with the data is bound. One of several is enough: the others are filled from it (desired/redis-start.ts). */
function isLost(recorded: readonly VolumeRecord[], records: readonly VolumeRecord[]): boolean {
  return recorded.length > 0 && !recorded.some(({ uid }) => records.some((one) => one.uid === uid));
}

const namesOf = (records: readonly VolumeRecord[]): string => records.map(({ volume }) => volume).join(", ");

function lostMessage(recorded: readonly VolumeRecord[], mark: string): string {
  const claims = recorded.map(({ claim }) => claim).join(", ");
  return `no claim is bound to the volumes with the data any more (${claims} to ${namesOf(recorded)}); Redis stays stopped until they are bound again, or the loss is accepted with acceptDataLoss: "${mark}"`;
}

const deleting = ({ metadata, spec }: VolumeClaim): Observation => ({
  type: "DataAtRisk",
  status: "True",
  reason: "ClaimIsDeleted",
  message: `claim ${metadata.name} is deleted and goes when the pod of Redis ends; its volume ${spec?.volumeName ?? ""} stays`,
});

// ── claims ───────────────────────────────────────────────────────────────────────────────────────

/** A claim whose volume object was deleted is in the phase `Lost`. */
const isBound = (claim: VolumeClaim | undefined): claim is VolumeClaim =>
  claim?.spec?.volumeName !== undefined && claim.status?.phase !== "Lost";

function boundClaims(
  environment: EnvironmentResource,
  get: (name: string, namespace: string) => VolumeClaim | undefined,
): readonly VolumeClaim[] {
  const namespace = objectNameOf(environment.spec.environmentId);
  return redisClaims(environment)
    .map((name) => get(name, namespace))
    .filter(isBound);
}

async function readClaims(
  environment: EnvironmentResource,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<readonly VolumeClaim[]> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const { items } = await client.list(resources.volumeClaims, { namespace, signal });
  const claims = items.map(parseVolumeClaim).filter((claim) => claim !== undefined);
  const byName = new Map(claims.map((claim) => [claim.metadata.name, claim]));
  return boundClaims(environment, (name) => byName.get(name));
}

/** Claims whose volumes outlive them from now on. */
async function recordsOf(
  environment: EnvironmentResource,
  claims: readonly VolumeClaim[],
  { client, retention }: VolumesPorts,
  signal: AbortSignal,
): Promise<readonly VolumeRecord[]> {
  const records: VolumeRecord[] = [];
  for (const { metadata, spec } of claims) {
    const volume = spec?.volumeName ?? "";
    const uid = await retention.retain(volume, environment, client, signal);
    if (uid !== undefined) records.push({ claim: metadata.name, volume, uid });
  }
  return records;
}

// ── Redis ────────────────────────────────────────────────────────────────────────────────────────

/** A StatefulSet with replicas creates missing claims by itself, empty. */
async function stopRedis(
  environment: EnvironmentResource,
  { client, caches, applier }: VolumesPorts,
  signal: AbortSignal,
): Promise<void> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const set = caches.statefulSets.get("redis", namespace);
  if (set === undefined || set.spec?.replicas === 0) return;
  applier.discardObject(resources.statefulSets, "redis", namespace);
  const { apiVersion, kind } = resources.statefulSets;
  const { uid } = set.metadata;
  const metadata = { name: "redis", namespace, ...(uid === undefined ? {} : { uid }) };
  await client.apply({ apiVersion, kind, metadata, spec: { replicas: 0 } }, { manager: `${MANAGER}-stop`, force: true, signal });
}
