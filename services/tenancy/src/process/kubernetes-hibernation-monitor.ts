/**
 * Watches which environments of the cell are hibernated. Each process of tenancy adds this to the environment's facts, so that a gateway
 * holds requests until the environment is up, instead of forwarding them to an upstream that does not answer.
 */
import { EventEmitter } from "node:events";
import { jsonFields } from "@perdure/base";
import { bareOf, type EnvironmentId, type EnvironmentSleep, parseEnvironmentId } from "@perdure/cloud";
import type { HibernationMonitor } from "@perdure/environments";
import type { MetadataOnly, ObjectCache } from "@perdure/kubernetes";

export class KubernetesHibernationMonitor implements HibernationMonitor, AsyncDisposable {
  readonly #states = new Map<EnvironmentId, EnvironmentSleep>();
  readonly #changes = new EventEmitter<{ change: [EnvironmentId] }>().setMaxListeners(0);
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  readonly #client: AsyncDisposable;

  /** `client` is closed at the end. */
  constructor(environments: ObjectCache, client: AsyncDisposable) {
    this.#client = client;
    environments.onChange((object, change) => this.#update(object, change === "deleted"));
    this.#watching = environments.run(this.#stop.signal);
  }

  sleepOf(id: EnvironmentId): EnvironmentSleep | undefined {
    return this.#states.get(id);
  }

  watch(listener: (id: EnvironmentId) => void, { signal }: { readonly signal: AbortSignal }): void {
    if (signal.aborted) return;
    this.#changes.on("change", listener);
    signal.addEventListener("abort", () => this.#changes.off("change", listener), { once: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.#client[Symbol.asyncDispose]();
  }

  #update(environment: MetadataOnly, isGone: boolean): void {
    const id = environmentOfObject(environment.metadata.name);
    if (id === undefined) return;
    const sleep = isGone ? undefined : sleepOf(environment);
    if (sleep === this.#states.get(id)) return;
    if (sleep === undefined) this.#states.delete(id);
    else this.#states.set(id, sleep);
    this.#changes.emit("change", id);
  }
}

/** An environment whose listeners are closing accepts no requests, and is woken like a hibernated one. */
function sleepOf(environment: MetadataOnly): EnvironmentSleep | undefined {
  const status = jsonFields(jsonFields(environment)?.["status"]);
  const state = jsonFields(status?.["hibernation"])?.["state"];
  if (typeof state !== "string") return undefined;
  return state === "Waking" ? "waking" : "asleep";
}

/** Objects are named `env-<bare>`; any other name is not an environment of an account. */
function environmentOfObject(name: string): EnvironmentId | undefined {
  const id = parseEnvironmentId(name.replace(/^env-/, "env_"));
  return id !== undefined && name === `env-${bareOf(id)}` ? id : undefined;
}
