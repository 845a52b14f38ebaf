/** Secrets of an environment's namespace, as plain texts by key: read, created once, or kept at a desired content. */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { isAlreadyThere, type KubeObject, resources } from "@perdure/kubernetes";
import { MANAGER } from "../applier.js";
import { childOf } from "../desired/labels.js";
import { hashOf } from "../desired/runtime-config.js";
import { parsed, parseSecret } from "../observed-objects.js";
import type { SecretClient } from "./secret-copies.js";

/** Texts by key. */
export type SecretData = Readonly<Record<string, string>>;

interface StoredOptions {
  /** Whether the Secret is deleted with the environment. */
  readonly isOwned: boolean;
  /** Type of the Secret; `Opaque` when absent. */
  readonly type?: string;
}

/** Rejects with the API server's error. */
export class SecretStore {
  readonly #environment: EnvironmentResource;
  readonly #client: SecretClient;
  readonly #signal: AbortSignal;
  /** Secrets read or written in this pass, the lifetime of a store. */
  readonly #cached = new Map<string, SecretData | undefined>();

  constructor(environment: EnvironmentResource, client: SecretClient, signal: AbortSignal) {
    this.#environment = environment;
    this.#client = client;
    this.#signal = signal;
  }

  async read(name: string): Promise<SecretData | undefined> {
    if (this.#cached.has(name)) return this.#cached.get(name);
    const data = await readSecret(this.#client, name, objectNameOf(this.#environment.spec.environmentId), this.#signal);
    this.#cached.set(name, data);
    return data;
  }

  /** The existing Secret, or else the one that is created from the result of `make`. */
  async ensure(name: string, options: StoredOptions, make: () => SecretData | Promise<SecretData>): Promise<SecretData> {
    const before = await this.read(name);
    if (before !== undefined) return before;
    const data = await make();
    try {
      await this.#client.create(this.#objectOf(name, data, options), { signal: this.#signal, manager: MANAGER });
      this.#cached.set(name, data);
      return data;
    } catch (cause) {
      if (!isAlreadyThere(cause)) throw cause; // Another operator was faster: its Secret counts.
      this.#cached.delete(name);
      return (await this.read(name)) ?? {};
    }
  }

  /** Writes only what is not so already. */
  async keep(name: string, data: SecretData, options: StoredOptions): Promise<void> {
    const before = await this.read(name);
    if (before !== undefined && hashOf(before) === hashOf(data)) return;
    await this.write(name, data, options);
  }

  async write(name: string, data: SecretData, options: StoredOptions): Promise<void> {
    await this.#client.apply(this.#objectOf(name, data, options), { manager: MANAGER, force: true, signal: this.#signal });
    this.#cached.set(name, data);
  }

  #objectOf(name: string, data: SecretData, { isOwned, type = "Opaque" }: StoredOptions): KubeObject {
    const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
    const content = { type, data: Object.fromEntries(encoded) };
    return childOf(this.#environment, { ...resources.secrets, name, isOwned }, content);
  }
}

/** Undefined when there is none. */
export async function readSecret(
  client: SecretClient,
  name: string,
  namespace: string,
  signal: AbortSignal,
): Promise<SecretData | undefined> {
  const secret = parsed(await client.find(resources.secrets, name, namespace, { signal }), parseSecret);
  if (secret === undefined) return undefined;
  const decoded = Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]);
  return Object.fromEntries(decoded);
}
