/**
 * Why: what we want is compared with what is there without asking the API server each time: we remember what we sent and what it became,
 * and our copy of the cluster says whether it still is that. So a pass in which nothing changed writes nothing, and a change by
 * somebody else is seen and undone once; who keeps undoing ours is given way to for a while (kubernetes.md §3.5).
 */
import type { Clock } from "@perdure/base";
import type { KubeObject, KubernetesClient, MetadataOnly, ObjectCache, Resource } from "@perdure/driver-kubernetes";
import { keyOf, resourceOf, resources } from "@perdure/driver-kubernetes";
import { hashOf } from "./desired/runtime-config.js";
import { FIGHT_PAUSE_MS, FIGHT_REVERTS, FIGHT_WITHIN_MS, UNSEEN_TRUST_MS } from "./limits.js";
import type { OperatorMetrics } from "./metrics.js";

/** Owns the fields that we send. */
export const MANAGER = "perdure-operator";

interface Remembered {
  readonly hash: string;
  readonly uid: string;
  /** What it was after our write. */
  readonly version: string;
  /** Of our write, monotonic. */
  readonly atMs: number;
}

export interface ApplierPorts {
  readonly client: KubernetesClient;
  /** Our copy of a kind; undefined where we keep none. */
  readonly cacheOf: (resource: Resource) => ObjectCache | undefined;
  readonly clock: Clock;
  readonly metrics: Pick<OperatorMetrics, "driftReverts">;
  /** Somebody undoes what we do. */
  readonly onFight: (object: KubeObject) => void;
}

export class Applier {
  readonly #ports: ApplierPorts;
  readonly #remembered = new Map<string, Remembered>();
  /** When an object was put right, lately. */
  readonly #reverts = new Map<string, number[]>();
  readonly #pausedUntilMs = new Map<string, number>();

  constructor(ports: ApplierPorts) {
    this.#ports = ports;
  }

  /** Whether anything was written. Rejects as the API server says. */
  async apply(object: KubeObject, signal: AbortSignal): Promise<boolean> {
    const { client, cacheOf, clock, metrics } = this.#ports;
    const resource = resourceOf(object);
    const { name, namespace } = object.metadata;
    const key = `${resource.plural}/${keyOf(name, namespace)}`;
    const cached = cacheOf(resource)?.get(name, namespace);
    const hash = hashOf(object);
    const before = this.#remembered.get(key);
    const isSame = before?.hash === hash;
    if (isSame && this.#isAsWritten(resource, before, cached)) return false;
    if ((this.#pausedUntilMs.get(key) ?? 0) > clock.monotonicMs()) return false;
    const written = await client.apply<MetadataOnly>(object, { manager: MANAGER, force: true, signal });
    const { uid = "" } = written.metadata;
    const version = versionOf(written);
    // Nothing is in a namespace that is another one than before, whatever we remember of kinds of which we keep no copy.
    if (resource === resources.namespaces && before !== undefined && before.uid !== uid) this.#forgetWithin(name);
    this.#remembered.set(key, { hash, uid, version, atMs: clock.monotonicMs() });
    const wasChanged =
      isSame && (uid !== before.uid || version !== before.version) && (cached === undefined || versionOf(cached) !== version);
    if (wasChanged) {
      metrics.driftReverts.inc(object.kind);
      this.#noteRevert(key, object);
    }
    return true;
  }

  /** Everything is compared and written anew: another leader may have been at it. */
  forget(): void {
    this.#remembered.clear();
  }

  /** One that goes because it is not wanted any more: when it is wanted again, nobody has taken it from us. */
  forgetObject(resource: Resource, name: string, namespace: string | undefined): void {
    this.#remembered.delete(`${resource.plural}/${keyOf(name, namespace)}`);
  }

  /** What belongs to a namespace that is no more, and itself. */
  forgetNamespace(namespace: string): void {
    this.#forgetWithin(namespace);
    for (const map of [this.#remembered, this.#reverts, this.#pausedUntilMs])
      map.delete(`${resources.namespaces.plural}/${namespace}`);
  }

  #forgetWithin(namespace: string): void {
    for (const map of [this.#remembered, this.#reverts, this.#pausedUntilMs]) {
      for (const key of map.keys()) if (key.includes(`/${namespace}/`)) map.delete(key);
    }
  }

  /** Kinds of which we keep no copy are what we wrote, for a while: nobody tells us when somebody removes one. */
  #isAsWritten(resource: Resource, { uid, version, atMs }: Remembered, cached: MetadataOnly | undefined): boolean {
    const { cacheOf, clock } = this.#ports;
    if (cacheOf(resource) === undefined) return clock.monotonicMs() - atMs < UNSEEN_TRUST_MS;
    return cached !== undefined && cached.metadata.uid === uid && versionOf(cached) === version;
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

/**
 * Changes when somebody changes what is wanted of an object, and not when controllers say how it is: many kinds count those changes.
 * Labels and annotations are not among what is counted.
 */
function versionOf({ metadata }: MetadataOnly): string {
  const { generation, resourceVersion = "", labels, annotations } = metadata;
  if (generation === undefined) return resourceVersion;
  return hashOf([generation, labels ?? {}, annotationsOfPeople(annotations ?? {})]);
}

const NOTED = /^(deployment\.kubernetes\.io\/.*|perdure\.dev\/(deployment-id|registered-at|superseded-at|remove-after))$/;

/** Controllers note what they did in annotations of theirs, and so do we, one by one. */
function annotationsOfPeople(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !NOTED.test(name)));
}
