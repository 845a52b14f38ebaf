/**
 * Snapshots of the volume with the journals, for backups, restores and deletions. Redis writes before it acknowledges, so a snapshot of a
 * running volume equals the state after a crash at that moment: nothing that was acknowledged is missing.
 *
 * A snapshot is identified by its content, which is cluster-scoped and outlives the namespace that it was taken in. The content is marked
 * with the account that owns the data, so that no other account can restore it.
 */
import { bareIdOf, ENVIRONMENT_LABEL, type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { isAlreadyThere, type KubeObject, type KubernetesClient, resources } from "@perdure/kubernetes";
import { MANAGER } from "../applier.js";
import type { Cell } from "../cell.js";
import { childOf } from "../desired/labels.js";
import { primaryClaimOf } from "../desired/redis.js";

/** Label of a snapshot with its purpose. */
const SNAPSHOT_LABEL = "perdure.dev/snapshot";
export const ACCOUNT_LABEL = "perdure.dev/account";
type SnapshotPurpose = "scheduled" | "final" | "restore";

export interface VolumeSnapshot extends KubeObject {
  readonly status?: {
    readonly readyToUse?: boolean;
    readonly boundVolumeSnapshotContentName?: string;
    readonly creationTime?: string;
    readonly restoreSize?: string;
    readonly error?: { readonly message?: string };
  };
}

export interface SnapshotContent extends KubeObject {
  readonly spec: { readonly driver: string; readonly deletionPolicy: string };
  readonly status?: { readonly snapshotHandle?: string };
}

export interface SnapshotPorts {
  readonly client: KubernetesClient;
  readonly cell: Cell;
}

/** Whether the cluster can take snapshots. Rejects with the API server's error. */
export async function snapshotsServed({ client, cell }: SnapshotPorts, signal: AbortSignal): Promise<boolean> {
  if (cell.snapshots !== "auto") return cell.snapshots === "on";
  return client.serves(resources.volumeSnapshots, { signal });
}

/** The snapshots of an environment that were taken for one purpose, the newest first. */
export async function snapshotsOf(
  environment: EnvironmentResource,
  purpose: SnapshotPurpose,
  { client }: SnapshotPorts,
  signal: AbortSignal,
): Promise<readonly VolumeSnapshot[]> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const labels = `${SNAPSHOT_LABEL}=${purpose}`;
  const { items } = await client.list<VolumeSnapshot>(resources.volumeSnapshots, { namespace, labels, signal });
  return newestFirst(items);
}

/**
 * Times have a resolution of seconds, and a slow driver takes two snapshots within one: then the one that was requested, or due, later is
 * newer.
 */
function newestFirst(snapshots: readonly VolumeSnapshot[]): readonly VolumeSnapshot[] {
  const requestedAtMs = ({ metadata }: VolumeSnapshot): number => Date.parse(metadata.creationTimestamp ?? "") || 0;
  const byName = (a: VolumeSnapshot, b: VolumeSnapshot): number => (a.metadata.name < b.metadata.name ? 1 : -1);
  return snapshots.toSorted((a, b) => snapshotAtMs(b) - snapshotAtMs(a) || requestedAtMs(b) - requestedAtMs(a) || byName(a, b));
}

/** Milliseconds since 1970. */
export function snapshotAtMs({ metadata, status }: VolumeSnapshot): number {
  return Date.parse(status?.creationTime ?? metadata.creationTimestamp ?? "");
}

/** Does nothing for an existing snapshot. The snapshot has no owner: it outlives the environment, unless its namespace is deleted. */
export async function takeSnapshot(
  environment: EnvironmentResource,
  name: string,
  purpose: SnapshotPurpose,
  { client, cell }: SnapshotPorts,
  signal: AbortSignal,
): Promise<void> {
  const source = { persistentVolumeClaimName: primaryClaimOf(environment) };
  const className = cell.snapshotClass === undefined ? {} : { volumeSnapshotClassName: cell.snapshotClass };
  const child = childOf(
    environment,
    { ...resources.volumeSnapshots, name, component: "redis", isOwned: false },
    { spec: { ...className, source } },
  );
  const labels = { ...child.metadata.labels, [SNAPSHOT_LABEL]: purpose };
  try {
    await client.create({ ...child, metadata: { ...child.metadata, labels } }, { signal, manager: MANAGER });
  } catch (cause) {
    if (!isAlreadyThere(cause)) throw cause;
  }
}

/** Writes the owner on a content, and with `keep` the policy that it outlives the snapshot object. */
export async function markContent(
  environment: EnvironmentResource,
  content: string,
  keep: boolean,
  { client }: SnapshotPorts,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind } = resources.snapshotContents;
  const metadata = { name: content, labels: ownerLabels(environment) };
  const object = { apiVersion, kind, metadata, ...(keep ? { spec: { deletionPolicy: "Retain" } } : {}) };
  // A field manager for each case: the later write must not revert the earlier one.
  await client.apply(object, { manager: keep ? `${MANAGER}-keep` : MANAGER, force: true, signal });
}

export function ownerLabels({ spec }: EnvironmentResource): Readonly<Record<string, string>> {
  return { [ENVIRONMENT_LABEL]: bareIdOf(spec.environmentId), [ACCOUNT_LABEL]: spec.accountId };
}
