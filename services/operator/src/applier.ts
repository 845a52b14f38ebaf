/**
 * Applies objects and skips what is unchanged, without a request to the API server. It stores what it sent and the resulting object; the
 * local copy of the cluster shows whether the object is still the same. So a pass without changes writes nothing, and a change by another
 * writer is detected and reverted once; after repeated reverts the applier gives way for a while (kubernetes.md §3.5).
 */
import { type Clock, jsonFields } from "@perdure/base";
import type { KubeObject, KubernetesClient, MetadataOnly, ObjectCache, Resource } from "@perdure/kubernetes";
import { isAlreadyThere, keyOf, resourceOf, resources } from "@perdure/kubernetes";
import { hashOf } from "./desired/runtime-config.js";
import { FIGHT_PAUSE_MS, FIGHT_REVERTS, FIGHT_WITHIN_MS, UNSEEN_TRUST_MS } from "./limits.js";
import type { OperatorMetrics } from "./metrics.js";

/** Owns the fields that we send. */
export const MANAGER = "perdure-operator";

interface AppliedObject {
  readonly hash: string;
  readonly uid: string;
  /** Version after our write. */
  readonly version: string;
  /** Time of our write, monotonic. */
  readonly atMs: number;
  /** Written object and resulting generation of a StatefulSet; undefined for other kinds. */
  readonly rolling: { readonly object: KubeObject; readonly generation: number } | undefined;
}

interface ObjectApplierPorts {
  readonly client: KubernetesClient;
  /** Our copy of a kind; undefined where we keep none. */
  readonly cacheOf: (resource: Resource) => ObjectCache | undefined;
  readonly clock: Clock;
  readonly metrics: Pick<OperatorMetrics, "driftReverts">;
  /** Called when another writer keeps reverting our changes. */
  readonly onFight: (object: KubeObject) => void;
}

export class ObjectApplier {
  readonly #ports: ObjectApplierPorts;
  readonly #applied = new Map<string, AppliedObject>();
  /** Times of recent reverts, by object. */
  readonly #reverts = new Map<string, number[]>();
  readonly #pausedUntilMs = new Map<string, number>();

  constructor(ports: ObjectApplierPorts) {
    this.#ports = ports;
  }

  /** Returns whether anything was written. Rejects with the API server's error. */
  async apply(object: KubeObject, signal: AbortSignal): Promise<boolean> {
    const { cacheOf, clock } = this.#ports;
    const resource = resourceOf(object);
    const { name, namespace } = object.metadata;
    const key = `${resource.plural}/${keyOf(name, namespace)}`;
    const cached = cacheOf(resource)?.get(name, namespace);
    const hash = hashOf(object);
    const before = this.#applied.get(key);
    if (before?.hash === hash && this.#isAsWritten(resource, before, cached)) return false;
    if ((this.#pausedUntilMs.get(key) ?? 0) > clock.monotonicMs()) return false;
    // How far a rollout may go follows from the pods, which follow from another writer's change of the template, so our desired object
    // changes together with theirs. The object as written before is applied first, so that the revert is counted.
    if (before?.rolling !== undefined && before.hash !== hash && isUndone(before.rolling, cached, object)) {
      await this.#write(key, before.rolling.object, before.hash, cached, signal);
    }
    await this.#write(key, object, hash, cached, signal);
    return true;
  }

  /** Creates an object that does not exist, with one request: a read first would be a second one. False: an object of that name exists and stays as it is. */
  async create(object: KubeObject, signal: AbortSignal): Promise<boolean> {
    const resource = resourceOf(object);
    const { name, namespace } = object.metadata;
    try {
      const written = await this.#ports.client.create<MetadataOnly>(object, { manager: MANAGER, signal });
      this.#remember(`${resource.plural}/${keyOf(name, namespace)}`, object, hashOf(object), written);
      return true;
    } catch (cause) {
      if (isAlreadyThere(cause)) return false;
      throw cause;
    }
  }

  async #write(
    key: string,
    object: KubeObject,
    hash: string,
    cached: MetadataOnly | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, metrics } = this.#ports;
    const resource = resourceOf(object);
    const before = this.#applied.get(key);
    const written = await client.apply<MetadataOnly>(object, { manager: MANAGER, force: true, signal });
    const { uid, version } = this.#remember(key, object, hash, written);
    const wasChanged =
      before?.hash === hash &&
      (uid !== before.uid || version !== before.version) &&
      (cached === undefined || versionOf(cached, resource) !== version);
    if (wasChanged) {
      metrics.driftReverts.inc(object.kind);
      this.#noteRevert(key, object);
    }
  }

  #remember(key: string, object: KubeObject, hash: string, written: MetadataOnly): AppliedObject {
    const resource = resourceOf(object);
    const { uid = "", generation = 0 } = written.metadata;
    const before = this.#applied.get(key);
    // A namespace that was created again is empty, so the stored writes of uncached kinds are dropped.
    if (resource === resources.namespaces && before !== undefined && before.uid !== uid)
      this.#discardWithin(object.metadata.name);
    const rolling = resource === resources.statefulSets ? { object, generation } : undefined;
    const now = { hash, uid, version: versionOf(written, resource), atMs: this.#ports.clock.monotonicMs(), rolling };
    this.#applied.set(key, now);
    return now;
  }

  /** Compares and writes all objects again: another leader may have changed them. */
  discardAll(): void {
    this.#applied.clear();
  }

  /** Discards an object that is deleted because it is no longer needed, so that creating it again later does not count as a revert. */
  discardObject(resource: Resource, name: string, namespace: string | undefined): void {
    this.#applied.delete(`${resource.plural}/${keyOf(name, namespace)}`);
  }

  /** Discards the objects of a deleted namespace, and the namespace itself. */
  discardNamespace(namespace: string): void {
    this.#discardWithin(namespace);
    for (const map of [this.#applied, this.#reverts, this.#pausedUntilMs])
      map.delete(`${resources.namespaces.plural}/${namespace}`);
  }

  #discardWithin(namespace: string): void {
    for (const map of [this.#applied, this.#reverts, this.#pausedUntilMs]) {
      for (const key of map.keys()) if (key.includes(`/${namespace}/`)) map.delete(key);
    }
  }

  /** Objects of uncached kinds count as unchanged for a while after a write: no watch reports their removal. */
  #isAsWritten(resource: Resource, { uid, version, atMs }: AppliedObject, cached: MetadataOnly | undefined): boolean {
    const { cacheOf, clock } = this.#ports;
    if (cacheOf(resource) === undefined) return clock.monotonicMs() - atMs < UNSEEN_TRUST_MS;
    return cached !== undefined && cached.metadata.uid === uid && versionOf(cached, resource) === version;
  }

  #noteRevert(key: string, object: KubeObject): void {
    const now = this.#ports.clock.monotonicMs();
    const recent = (this.#reverts.get(key) ?? []).filter((atMs) => now - atMs < FIGHT_WITHIN_MS);
    recent.push(now);
    this.#reverts.set(key, recent);
    if (recent.length < FIGHT_REVERTS) return;
    this.#reverts.delete(key);
    this.#pausedUntilMs.set(key, now + FIGHT_PAUSE_MS);
    this.#ports.onFight(object);
  }
}

/** Whether another writer changed the set after our last write and our desired object differs only in how far its rollout may go. */
function isUndone(
  { object: before, generation }: NonNullable<AppliedObject["rolling"]>,
  cached: MetadataOnly | undefined,
  object: KubeObject,
): boolean {
  return (cached?.metadata.generation ?? 0) > generation && hashOf(withoutPartition(before)) === hashOf(withoutPartition(object));
}

function withoutPartition(object: KubeObject): KubeObject {
  const { updateStrategy: _, ...spec } = jsonFields(object["spec"]) ?? {};
  return { ...object, spec };
}

/**
 * A version that changes with the spec and not with status writes: the generation, where the kind has one. Labels and annotations do not
 * change it.
 */
function versionOf({ metadata }: MetadataOnly, resource: Resource): string {
  const { generation, resourceVersion = "", labels, annotations } = metadata;
  if (generation !== undefined) return hashOf([generation, labels ?? {}, annotationsOfPeople(annotations ?? {})]);
  if (resource === resources.resourceQuotas) return hashOf([labels ?? {}, annotations ?? {}, ownersOf(metadata)]);
  return resourceVersion;
}

/**
 * Field owners of the spec with the time of each. Quotas have no generation, and their controller writes the status whenever a pod starts
 * or ends, which changes the resource version each time.
 */
function ownersOf({ managedFields = [] }: KubeObject["metadata"]): readonly unknown[] {
  return managedFields.filter((owner) => jsonFields(owner)?.["subresource"] !== "status");
}

const NOTED = /^(deployment\.kubernetes\.io\/.*|perdure\.dev\/(deployment-id|registered-at|superseded-at|remove-after))$/;

/** Controllers note what they did in annotations of theirs, and so do we, one by one. */
function annotationsOfPeople(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !NOTED.test(name)));
}
