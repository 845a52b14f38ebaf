/**
 * Caches Secrets. A pass needs up to a dozen of them, and most passes follow from a pod that has become ready, not from a changed Secret.
 * Secrets of the operator's namespace are watched, so a cached one is valid until its version changes. Secrets of environments are not
 * watched (the operator has no right to list them); they are cached for a short time, for longer while a namespace that the operator has
 * created starts, and never after the environment changed.
 */
import { BoundedCache, type Clock } from "@perdure/base";
import {
  type ApplyOptions,
  isAlreadyThere,
  type KubeObject,
  type KubernetesCallOptions,
  type KubernetesClient,
  keyOf,
  type ObjectCache,
  type Resource,
  resources,
} from "@perdure/kubernetes";
import { NEW_NAMESPACE_MS, SECRET_COPIES_MAX, SECRET_TRUST_MS, START_SECRET_TRUST_MS } from "../limits.js";

/** The operations on Secrets, which `KubernetesClient` has, too. */
export interface SecretClient {
  find(resource: Resource, name: string, namespace: string, call: KubernetesCallOptions): Promise<KubeObject | undefined>;
  create(object: KubeObject, call?: KubernetesCallOptions & { readonly manager?: string }): Promise<KubeObject>;
  apply(object: KubeObject, options: ApplyOptions): Promise<KubeObject>;
}

interface Copy {
  readonly secret: KubeObject;
  /** Monotonic time at which the copy was read or written. */
  readonly atMs: number;
}

/** A namespace that was created here. */
interface NewNamespace {
  readonly createdAtMs: number;
  /** Copies are trusted until then, whatever their age. */
  readonly trustedUntilMs: number;
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
  /** Namespaces whose environments start for the first time, or just did. */
  readonly #starting = new Map<string, NewNamespace>();

  constructor(ports: SecretCopiesPorts) {
    this.#ports = ports;
  }

  /** A namespace was just created: it has no Secrets. */
  noteNew(namespace: string): void {
    this.discard(namespace);
    const createdAtMs = this.#ports.clock.monotonicMs();
    this.#starting.set(namespace, { createdAtMs, trustedUntilMs: createdAtMs + START_SECRET_TRUST_MS });
  }

  /** The environment is ready: the start is over, and its Secrets count as read now. */
  noteReady(namespace: string): void {
    const starting = this.#starting.get(namespace);
    if (starting === undefined) return;
    const trustedUntilMs = Math.min(starting.trustedUntilMs, this.#ports.clock.monotonicMs() + SECRET_TRUST_MS);
    this.#starting.set(namespace, { ...starting, trustedUntilMs });
  }

  /** Something is wrong with the start, and a Secret may be the reason. */
  noteProblem(namespace: string): void {
    this.#starting.delete(namespace);
  }

  /** Drops the copies of a namespace, so that its Secrets are read again. */
  discard(namespace: string): void {
    this.#starting.delete(namespace);
    this.#copies.deleteWhere((key) => key.startsWith(`${namespace}/`));
  }

  /** Everything is read again: another leader may have been at it. */
  clear(): void {
    this.#starting.clear();
    this.#copies.clear();
  }

  async find(resource: Resource, name: string, namespace: string, call: KubernetesCallOptions): Promise<KubeObject | undefined> {
    if (resource !== resources.secrets) return this.#ports.client.find(resource, name, namespace, call);
    const key = keyOf(name, namespace);
    const copy = this.#copies.peek(key);
    if (copy !== undefined && this.#isGood(copy, name, namespace)) return copy.secret;
    if (copy === undefined && this.#isNew(namespace)) return undefined;
    const existing = await this.#ports.client.find(resource, name, namespace, call);
    if (existing === undefined) {
      this.#copies.delete(key);
      return undefined;
    }
    return this.#keep(existing);
  }

  async create(object: KubeObject, call?: KubernetesCallOptions & { readonly manager?: string }): Promise<KubeObject> {
    try {
      return this.#keep(await this.#ports.client.create(object, call));
    } catch (cause) {
      if (isAlreadyThere(cause)) this.discard(object.metadata.namespace ?? "");
      throw cause;
    }
  }

  async apply(object: KubeObject, options: ApplyOptions): Promise<KubeObject> {
    return this.#keep(await this.#ports.client.apply(object, options));
  }

  #isGood({ secret, atMs }: Copy, name: string, namespace: string): boolean {
    const { watched, clock } = this.#ports;
    if (namespace !== this.#ports.namespace) {
      const nowMs = clock.monotonicMs();
      return nowMs - atMs < SECRET_TRUST_MS || nowMs < (this.#starting.get(namespace)?.trustedUntilMs ?? 0);
    }
    const { resourceVersion } = secret.metadata;
    return resourceVersion !== undefined && watched.get(name, namespace)?.metadata.resourceVersion === resourceVersion;
  }

  /** Whether it was created so recently that no other writer has added anything. */
  #isNew(namespace: string): boolean {
    const starting = this.#starting.get(namespace);
    return starting !== undefined && this.#ports.clock.monotonicMs() - starting.createdAtMs < NEW_NAMESPACE_MS;
  }

  #keep(secret: KubeObject): KubeObject {
    if (secret.kind !== resources.secrets.kind) return secret;
    const { name, namespace } = secret.metadata;
    this.#copies.set(keyOf(name, namespace), { secret, atMs: this.#ports.clock.monotonicMs() });
    return secret;
  }
}
