/**
 * Restores an environment from a snapshot: its volume claim is created from the snapshot before Redis, which then starts with that data.
 * Its workers learn from `worker.incarnation` that it is not the environment of the snapshot, and fence off the writers of that one.
 */
import { bareIdOf, ENVIRONMENT_LABEL, type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { isAlreadyThere, type KubeObject, type KubernetesClient, resources } from "@perdure/kubernetes";
import { MANAGER } from "../applier.js";
import { childOf } from "../desired/labels.js";
import { claimSpecOf, REDIS_CLAIM } from "../desired/redis.js";
import { quantityOf } from "../desired/sizes.js";
import { WAIT_REFERENCE_MS, WAIT_SNAPSHOT_MS } from "../limits.js";
import { bad, type StepOutcome } from "./outcome.js";
import {
  ACCOUNT_LABEL,
  ownerLabels,
  type SnapshotContent,
  type SnapshotPorts,
  snapshotsServed,
  type VolumeSnapshot,
} from "./snapshots.js";

const TYPE = "StorageReady";
/** Name of the snapshot object in the namespace from which the claim is restored. */
const RESTORE = "restore";

/** Undefined when Redis may start; otherwise the reason to wait. Rejects with the API server's error. */
export async function restoreVolume(
  environment: EnvironmentResource,
  ports: SnapshotPorts,
  signal: AbortSignal,
): Promise<StepOutcome | undefined> {
  const snapshotId = environment.spec.backup?.restoreFrom?.snapshotId;
  // The data that exists by now is newer than any snapshot.
  const { present, acceptedLoss } = environment.status?.data ?? {};
  if (snapshotId === undefined || present === true || acceptedLoss !== undefined) return undefined;
  const { client } = ports;
  const namespace = objectNameOf(environment.spec.environmentId);
  const claim = await client.find(resources.volumeClaims, REDIS_CLAIM, namespace, { signal });
  if (claim !== undefined) return isRestored(claim, environment) ? undefined : refuse(`volume ${REDIS_CLAIM} is there already`);
  if (environment.spec.redis.bundled === undefined) return refuse("Redis is external, so there is no volume to restore");
  if (!(await snapshotsServed(ports, signal)))
    return bad(TYPE, "BackupUnavailable", "this cluster has no snapshots of volumes", WAIT_REFERENCE_MS);
  const content = await client.find<SnapshotContent>(resources.snapshotContents, snapshotId, undefined, { signal });
  if (content === undefined) return refuse(`there is no snapshot ${snapshotId}`);
  const foreign = foreignness(content, environment);
  if (foreign !== undefined) return refuse(foreign);
  const handle = content.status?.snapshotHandle;
  if (handle === undefined) return bad(TYPE, "VolumePending", `snapshot ${snapshotId} is not there yet`, WAIT_SNAPSHOT_MS);
  const snapshot = await here(environment, { driver: content.spec.driver, handle }, client, signal);
  if (snapshot.status?.readyToUse !== true)
    return bad(TYPE, "VolumePending", `snapshot ${snapshotId} is being prepared`, WAIT_SNAPSHOT_MS);
  const tooSmall = sizeProblem(environment, snapshot);
  if (tooSmall !== undefined) return refuse(tooSmall);
  await makeClaim(environment, client, signal);
  return undefined;
}

const refuse = (message: string): StepOutcome => bad(TYPE, "InvalidReference", message, WAIT_REFERENCE_MS);

/** Undefined when it is this environment's. Journals name the environment that they are of. */
function foreignness({ metadata }: SnapshotContent, { spec }: EnvironmentResource): string | undefined {
  const { [ENVIRONMENT_LABEL]: whose, [ACCOUNT_LABEL]: account } = metadata.labels ?? {};
  // The same message as for no snapshot, so that an account learns nothing of others' snapshots.
  if (account !== spec.accountId) return `there is no snapshot ${metadata.name}`;
  if (whose === bareIdOf(spec.environmentId)) return undefined;
  return `snapshot ${metadata.name} is of env_${whose ?? "?"}; only an environment of the same id can be restored from it`;
}

function sizeProblem({ spec }: EnvironmentResource, { status }: VolumeSnapshot): string | undefined {
  const size = spec.redis.bundled?.size ?? "0";
  const needed = status?.restoreSize;
  if (needed === undefined || quantityOf(size) >= quantityOf(needed)) return undefined;
  return `the snapshot needs a volume of ${needed}; redis.bundled.size is ${size}`;
}

/** The snapshot where the claim can name it: by a content of its own, which is bound to it beforehand. */
async function here(
  environment: EnvironmentResource,
  { driver, handle }: { readonly driver: string; readonly handle: string },
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<VolumeSnapshot> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const content = `${RESTORE}-${environment.metadata.uid ?? ""}`;
  const { apiVersion, kind } = resources.snapshotContents;
  await client.apply(
    {
      apiVersion,
      kind,
      metadata: { name: content, labels: ownerLabels(environment) },
      spec: {
        driver,
        deletionPolicy: "Retain", // The snapshot itself belongs to its creator.
        source: { snapshotHandle: handle },
        volumeSnapshotRef: { name: RESTORE, namespace },
      },
    },
    { manager: MANAGER, force: true, signal },
  );
  const snapshot = childOf(
    environment,
    { ...resources.volumeSnapshots, name: RESTORE, component: "redis", isOwned: false },
    { spec: { source: { volumeSnapshotContentName: content } } },
  );
  return client.apply<VolumeSnapshot>(snapshot, { manager: MANAGER, force: true, signal });
}

const RESTORED_FROM = "perdure.dev/restored-for";

async function makeClaim(environment: EnvironmentResource, client: KubernetesClient, signal: AbortSignal): Promise<void> {
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: RESTORE };
  const annotations = { [RESTORED_FROM]: environment.metadata.uid ?? "" };
  const claim = childOf(
    environment,
    { ...resources.volumeClaims, name: REDIS_CLAIM, component: "redis", isOwned: false, annotations },
    { spec: { ...claimSpecOf(environment), dataSource } },
  );
  try {
    await client.create(claim, { signal, manager: MANAGER });
  } catch (cause) {
    if (!isAlreadyThere(cause)) throw cause;
  }
}

/** Whether the object was restored for this very environment, and not for an earlier one with its id. */
function isRestored({ metadata }: KubeObject, environment: EnvironmentResource): boolean {
  return metadata.annotations?.[RESTORED_FROM] === environment.metadata.uid;
}
