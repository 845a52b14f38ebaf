/**
 * Caches Secrets. A pass needs up to a dozen of them, and most passes follow from a pod that has become ready, not from a changed Secret.
 * Secrets of the operator's namespace are watched, so a cached one is valid until its version changes. Secrets of environments are not
 * watched (the operator has no right to list them); they are cached for a short time, and never after the environment changed.
 */
import { BoundedCache, type Clock } from "@perdure/base";
import {
  isAlreadyThere,
  type KubeObject,
  type KubernetesCallOptions,
  type KubernetesClient,
  keyOf,
  type MetadataOnly,
  type ObjectCache,
  type Resource,
  resources,
} from "@perdure/kubernetes";
import { NEW_NAMESPACE_MS, SECRET_COPIES_MAX, SECRET_TRUST_MS } from "../limits.js";

/** The operations on Secrets. */
export type SecretClient = Pick<KubernetesClient, "find" | "create" | "apply">;

interface Copy {
  readonly secret: KubeObject;
  /** Monotonic time at which the copy was read or written. */
  readonly atMs: number;
}

interface SecretCopiesPorts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  /** Secrets of the operator's namespace. */
  readonly watched: Pick<ObjectCache, "get">;
  /** The operator's own. */
  readonly namespace: string;
}

export class SecretCopies implements SecretClient {
  readonly #ports: SecretCopiesPorts;
  /** Copies by key, oldest first. */
  readonly #copies = new BoundedCache<string, Copy>({ entriesMax: SECRET_COPIES_MAX });
  /** Namespaces that were created so recently that no other writer has added anything, with the time of creation. */
  readonly #new = new Map<string, number>();

  constructor(ports: SecretCopiesPorts) {
    this.#ports = ports;
  }

  /** A namespace was just created: it has no Secrets. */
  noteNew(namespace: string): void {
    this.discard(namespace);
    this.#new.set(namespace, this.#ports.clock.monotonicMs());
  }

  /** Drops the copies of a namespace, so that its Secrets are read again. */
  discard(namespace: string): void {
    this.#new.delete(namespace);
    this.#copies.deleteWhere((key) => key.startsWith(`${namespace}/`));
  }

  /** Everything is read again: another leader may have been at it. */
  clear(): void {
    this.#new.clear();
    this.#copies.clear();
  }

  async find<T extends MetadataOnly = KubeObject>(
    resource: Resource,
    name: string,
    namespace?: string,
    call: KubernetesCallOptions = {},
  ): Promise<T | undefined> {
    const { client } = this.#ports;
    if (resource !== resources.secrets || namespace === undefined) return client.find<T>(resource, name, namespace, call);
    const key = keyOf(name, namespace);
    const copy = this.#copies.peek(key);
    if (copy !== undefined && this.#isGood(copy, name, namespace)) return copy.secret as unknown as T;
    if (copy === undefined && this.#isNew(namespace)) return undefined;
    const existing = await client.find<KubeObject>(resource, name, namespace, call);
    if (existing === undefined) this.#copies.delete(key);
    else this.#keep(existing);
    return existing as T | undefined;
  }

  async create<T extends MetadataOnly = KubeObject>(
    object: KubeObject,
    call?: KubernetesCallOptions & { readonly manager?: string },
  ): Promise<T> {
    try {
      return this.#keep(await this.#ports.client.create<KubeObject>(object, call)) as unknown as T;
    } catch (cause) {
      if (isAlreadyThere(cause)) this.discard(object.metadata.namespace ?? "");
      throw cause;
    }
  }

  async apply<T extends MetadataOnly = KubeObject>(
    object: KubeObject,
    options: Parameters<KubernetesClient["apply"]>[1],
  ): Promise<T> {
    return this.#keep(await this.#ports.client.apply<KubeObject>(object, options)) as unknown as T;
  }

  #isGood({ secret, atMs }: Copy, name: string, namespace: string): boolean {
    const { watched, clock } = this.#ports;
    if (namespace !== this.#ports.namespace) return clock.monotonicMs() - atMs < SECRET_TRUST_MS;
    const { resourceVersion } = secret.metadata;
    return resourceVersion !== undefined && watched.get(name, namespace)?.metadata.resourceVersion === resourceVersion;
  }

  #isNew(namespace: string): boolean {
    const atMs = this.#new.get(namespace);
    if (atMs === undefined) return false;
    if (this.#ports.clock.monotonicMs() - atMs < NEW_NAMESPACE_MS) return true;
    this.#new.delete(namespace);
    return false;
  }

  #keep(secret: KubeObject): KubeObject {
    if (secret.kind !== resources.secrets.kind) return secret;
    const { name, namespace } = secret.metadata;
    this.#copies.set(keyOf(name, namespace), { secret, atMs: this.#ports.clock.monotonicMs() });
    return secret;
  }
}
