/**
 * Simulates a storage driver in a control plane without one: claims get volumes and grow where their class allows it, and snapshots are
 * taken, as the controllers of a driver would report. No bytes are stored.
 */
import { readFile } from "node:fs/promises";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { type KubeObject, type KubernetesClient, Reflector, resources } from "@perdure/kubernetes";
import type { ControlPlane } from "@perdure/servers";

const ports = { clock: systemClock, random: systemRandom, logger: silentLogger };
const MANAGER = "storage";
const DRIVER = "test.csi.example.org";

interface Claim extends KubeObject {
  readonly spec?: { readonly volumeName?: string; readonly resources: { readonly requests: { readonly storage: string } } };
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage?: string } };
}

interface Snapshot extends KubeObject {
  readonly spec: {
    readonly source: { readonly persistentVolumeClaimName?: string; readonly volumeSnapshotContentName?: string };
  };
  readonly status?: { readonly readyToUse?: boolean; readonly boundVolumeSnapshotContentName?: string };
}

export interface Storage extends AsyncDisposable {
  /** Gives the cluster snapshots. */
  defineSnapshots(): Promise<void>;
  /** Holds or releases snapshots: while held, none becomes ready. */
  holdSnapshots(isHeld: boolean): void;
  /** Holds or releases growth: while held, no claim grows. */
  holdGrowth(isHeld: boolean): void;
}

/** Storage classes `grows` and `fixed`. */
export async function playStorage(kubernetes: ControlPlane, client: KubernetesClient): Promise<Storage> {
  for (const [name, allowVolumeExpansion] of [
    ["grows", true],
    ["fixed", false],
  ] as const) {
    const body = { metadata: { name }, provisioner: DRIVER, allowVolumeExpansion };
    const { status, text } = await kubernetes.request({ method: "POST", path: "/apis/storage.k8s.io/v1/storageclasses", body });
    if (status !== 201) throw new Error(text);
  }
  return new PlayedStorage(client);
}

class PlayedStorage implements Storage {
  readonly #client: KubernetesClient;
  readonly #claims: Reflector<Claim>;
  readonly #running: Promise<void>[];
  readonly #stop = new AbortController();
  readonly #under = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];
  #snapshots: Reflector<Snapshot> | undefined;
  #areSnapshotsHeld = false;
  #isGrowthHeld = false;

  constructor(client: KubernetesClient) {
    this.#client = client;
    this.#claims = new Reflector<Claim>({ resource: resources.volumeClaims }, { ...ports, client });
    this.#claims.onChange((claim, change) => {
      if (change !== "deleted") this.#do(() => this.#provide(claim));
    });
    this.#running = [this.#claims.run(this.#stop.signal)];
  }

  async defineSnapshots(): Promise<void> {
    const text = await readFile(new URL("../testdata/snapshot-definitions.json", import.meta.url), "utf8");
    for (const definition of JSON.parse(text) as readonly KubeObject[])
      await this.#client.apply(definition, { manager: MANAGER, force: true });
    while (!(await this.#client.serves(resources.volumeSnapshots))) await new Promise((resolve) => setTimeout(resolve, 50));
    const snapshots = new Reflector<Snapshot>({ resource: resources.volumeSnapshots }, { ...ports, client: this.#client });
    snapshots.onChange((snapshot, change) => {
      if (change === "deleted") this.#do(() => this.#discard(snapshot));
      else this.#do(() => this.#take(snapshot));
    });
    this.#snapshots = snapshots;
    this.#running.push(snapshots.run(this.#stop.signal));
  }

  holdSnapshots(isHeld: boolean): void {
    this.#areSnapshotsHeld = isHeld;
    for (const snapshot of this.#snapshots?.values() ?? []) this.#do(() => this.#take(snapshot));
  }

  holdGrowth(isHeld: boolean): void {
    this.#isGrowthHeld = isHeld;
    for (const claim of this.#claims.values()) this.#do(() => this.#provide(claim));
  }

  #do(work: () => Promise<void>): void {
    const doing = work()
      .catch((cause: unknown) => {
        const status = (cause as { readonly status?: number }).status;
        if (!this.#stop.signal.aborted && status !== 404 && status !== 409) this.#failures.push(cause);
      })
      .finally(() => this.#under.delete(doing));
    this.#under.add(doing);
  }

  /** Provides a volume of the requested size for a claim without one. */
  async #provide(claim: Claim): Promise<void> {
    const { name, namespace = "" } = claim.metadata;
    const storage = claim.spec?.resources.requests.storage ?? "1Gi";
    if (claim.metadata.deletionTimestamp !== undefined) return;
    if (claim.spec?.volumeName === undefined) {
      const volumeName = `pv-${claim.metadata.uid}`;
      await this.#apply("v1", "PersistentVolume", { name: volumeName }, { spec: this.#volume(claim, storage) });
      await this.#client.patch(resources.volumeClaims, { name, namespace }, [
        { op: "add", path: "/spec/volumeName", value: volumeName },
      ]);
      return;
    }
    const isGrowing = claim.status?.phase === "Bound" && claim.status.capacity?.storage !== storage;
    if (claim.status?.phase === "Bound" && (!isGrowing || this.#isGrowthHeld)) return;
    const status = { phase: "Bound", capacity: { storage }, accessModes: ["ReadWriteOnce"] };
    await this.#apply("v1", "PersistentVolumeClaim", { name, namespace }, { status }, "status");
  }

  #volume({ metadata }: Claim, storage: string) {
    return {
      capacity: { storage },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Delete",
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name: metadata.name, namespace: metadata.namespace },
      csi: { driver: DRIVER, volumeHandle: `volume-${metadata.uid}` },
    };
  }

  async #take(snapshot: Snapshot): Promise<void> {
    if (this.#areSnapshotsHeld || snapshot.status?.readyToUse === true) return;
    const { name, namespace = "", uid } = snapshot.metadata;
    const { persistentVolumeClaimName, volumeSnapshotContentName } = snapshot.spec.source;
    const content = volumeSnapshotContentName ?? `snapcontent-${uid}`;
    if (persistentVolumeClaimName !== undefined) {
      const spec = {
        driver: DRIVER,
        deletionPolicy: "Delete",
        source: { volumeHandle: `volume-of-${namespace}-${persistentVolumeClaimName}` },
        volumeSnapshotRef: { name, namespace, uid },
      };
      await this.#apply(resources.snapshotContents.apiVersion, "VolumeSnapshotContent", { name: content }, { spec });
      const status = { snapshotHandle: `snapshot-${uid}`, readyToUse: true };
      await this.#apply(resources.snapshotContents.apiVersion, "VolumeSnapshotContent", { name: content }, { status }, "status");
    }
    const status = {
      readyToUse: true,
      boundVolumeSnapshotContentName: content,
      creationTime: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
      restoreSize: "10Gi",
    };
    await this.#apply(resources.volumeSnapshots.apiVersion, "VolumeSnapshot", { name, namespace }, { status }, "status");
  }

  /** The snapshot is deleted with the object, unless its content has the policy `Retain`. */
  async #discard({ status }: Snapshot): Promise<void> {
    const name = status?.boundVolumeSnapshotContentName;
    if (name === undefined) return;
    const content = await this.#client.find<KubeObject & { readonly spec: { readonly deletionPolicy: string } }>(
      resources.snapshotContents,
      name,
    );
    if (content?.spec.deletionPolicy === "Delete") await this.#client.delete(resources.snapshotContents, name, undefined);
  }

  async #apply(
    apiVersion: string,
    kind: string,
    metadata: KubeObject["metadata"],
    content: Readonly<Record<string, unknown>>,
    subresource?: "status",
  ): Promise<void> {
    const sub = subresource === undefined ? {} : { subresource };
    await this.#client.apply({ apiVersion, kind, metadata, ...content }, { manager: MANAGER, force: true, ...sub });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    await Promise.all(this.#under);
    if (this.#failures.length > 0) throw this.#failures[0];
  }
}
