/**
 * The Provisioner of a cell: the desired state is an Environment object, and the state is what the operator reports. Everything that must
 * outlive this process is stored in the object, so a new process reads it and continues.
 *
 * apply               ─▸ Secret, Environment ─▸ operator ─▸ status ─▸ state
 * remove              ─▸ processes stop; data and object stay for the next `apply`
 * remove with `erase` ─▸ the object and all its data are deleted
 */
import { type Clock, type Logger, PerdureError, pause, type Random } from "@perdure/base";
import type { DesiredRuntime, EnvironmentId, Provisioner, RuntimeState, RuntimeStateListener } from "@perdure/cloud";
import { type EnvironmentResource, objectNameOf, parseEnvironment } from "@perdure/custom-resources";
import { isNotFound, type KubeObject, type KubernetesClient, Reflector, resources } from "@perdure/kubernetes";
import {
  environmentOf,
  MANAGER,
  REMOVED,
  type RuntimeTemplate,
  signingKeyName,
  signingKeyOf,
  tunnelTokenName,
  tunnelTokenOf,
} from "./desired-environment.js";
import { ERASE_MS_MAX, ERASE_POLL_MS, SYNC_MS_MAX } from "./limits.js";
import { appliedGenerationOf, isIn, type PendingGeneration, runtimeStateOf } from "./runtime-state.js";

interface KubernetesProvisionerPorts {
  /** Closed with the provisioner. */
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface KubernetesProvisionerOptions {
  /** The operator's: where Secrets lie that environments refer to. */
  readonly namespace: string;
  /** Suffix of names inside the cluster: `cluster.local`. */
  readonly clusterDns: string;
  readonly template: RuntimeTemplate;
}

/** Resolves when all environments of the cell are listed. Rejects with OPS0001 when the API server does not list them within a minute. */
export async function openKubernetesProvisioner(
  ports: KubernetesProvisionerPorts,
  options: KubernetesProvisionerOptions,
): Promise<Provisioner> {
  const provisioner = new KubernetesProvisioner(ports, options);
  try {
    await provisioner.synced();
    return provisioner;
  } catch (cause) {
    await provisioner[Symbol.asyncDispose]();
    throw cause;
  }
}

class KubernetesProvisioner implements Provisioner {
  readonly #ports: KubernetesProvisionerPorts;
  readonly #options: KubernetesProvisionerOptions;
  readonly #environments: Reflector<EnvironmentResource>;
  readonly #listeners: RuntimeStateListener[] = [];
  /** Applied generations that the local copy of the cluster may not contain yet. */
  readonly #pendingGenerations = new Map<EnvironmentId, PendingGeneration>();
  /** Removed environments that the local copy may not show as removed yet. */
  readonly #removed = new Set<EnvironmentId>();
  /** State that listeners received last, by environment. */
  readonly #reportedStates = new Map<EnvironmentId, string>();
  readonly #turns = new Map<EnvironmentId, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(ports: KubernetesProvisionerPorts, options: KubernetesProvisionerOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#environments = new Reflector({ resource: resources.environments, parse: parseEnvironment }, ports);
    this.#environments.onChange((environment, change) => {
      if (change !== "resync") this.#notify(environment.spec.environmentId as EnvironmentId);
    });
    this.#watching = this.#environments.run(this.#stop.signal);
  }

  async synced(): Promise<void> {
    const timeout = Promise.withResolvers<never>();
    const timer = this.#ports.clock.setTimer(SYNC_MS_MAX, () =>
      timeout.reject(
        new PerdureError("OPS0001", "the API server does not list environments; are our definitions installed, and may we?"),
      ),
    );
    try {
      await Promise.race([this.#environments.synced, timeout.promise]);
    } finally {
      timer.cancel();
    }
  }

  apply(desired: DesiredRuntime): Promise<void> {
    return this.#inTurn(desired.environmentId, () => this.#apply(desired));
  }

  remove(environmentId: EnvironmentId, { erase }: { readonly erase: boolean }): Promise<void> {
    return this.#inTurn(environmentId, () => (erase ? this.#erase(environmentId) : this.#putToRest(environmentId)));
  }

  state(environmentId: EnvironmentId): RuntimeState | undefined {
    if (this.#removed.has(environmentId)) return undefined;
    const environment = this.#environments.get(objectNameOf(environmentId));
    const appliedGeneration = environment === undefined ? undefined : appliedGenerationOf(environment);
    const pending = this.#pendingGenerations.get(environmentId);
    if (pending !== undefined && !isIn(pending, environment)) return { phase: "starting", generation: pending.generation };
    if (environment === undefined || appliedGeneration === undefined) return undefined;
    return runtimeStateOf(environment, appliedGeneration, this.#options.clusterDns);
  }

  onChange(listener: RuntimeStateListener): void {
    this.#listeners.push(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await Promise.allSettled(this.#turns.values());
    await this.#ports.client[Symbol.asyncDispose]();
  }

  // ── desired state ──────────────────────────────────────────────────────────────────────────────

  async #apply(desired: DesiredRuntime): Promise<void> {
    const { environmentId, generation } = desired;
    const { client } = this.#ports;
    const { namespace, template } = this.#options;
    if (generation < (this.state(environmentId)?.generation ?? 0)) return;
    const call = { manager: MANAGER, force: true, signal: this.#stop.signal };
    await client.apply(signingKeyOf(desired, namespace), call);
    const tunnelToken = tunnelTokenOf(desired, namespace);
    if (tunnelToken !== undefined) await client.apply(tunnelToken, call);
    const before = await this.#find(environmentId);
    if (before !== undefined && before.metadata.deletionTimestamp !== undefined) {
      throw new PerdureError("OPS0004", `${objectNameOf(environmentId)} is still being deleted`);
    }
    // Upgrades of environments are another component's task: a new desired state does not change the release.
    const release = before?.spec.version;
    const object = environmentOf(desired, release === undefined ? template : { ...template, version: release });
    const { metadata } = await client.apply(object, call);
    if (tunnelToken === undefined && before?.spec.tunnels !== undefined) {
      await client.delete(resources.secrets, tunnelTokenName(environmentId), namespace, { signal: this.#stop.signal });
    }
    this.#pendingGenerations.set(environmentId, { generation, objectGeneration: metadata.generation ?? 0 });
    this.#removed.delete(environmentId);
    this.#notify(environmentId);
  }

  /** Suspends the environment and marks it as removed, so that a later process does not take it for one in use. */
  async #putToRest(environmentId: EnvironmentId): Promise<void> {
    if ((await this.#find(environmentId)) !== undefined) {
      await this.#patch(environmentId, { [REMOVED]: "yes" }, { suspended: true });
    }
    this.#markRemoved(environmentId);
  }

  /** Resolves when the operator has removed the object's finalizer, its last step. */
  async #erase(environmentId: EnvironmentId): Promise<void> {
    const { client, clock } = this.#ports;
    const name = objectNameOf(environmentId);
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ERASE_MS_MAX)]);
    const present = await this.#find(environmentId);
    if (present !== undefined) {
      await this.#patch(environmentId, { [REMOVED]: "yes" }, { reclaimPolicy: "Delete", deletionProtection: false });
      await client.delete(resources.environments, name, undefined, { signal });
      this.#markRemoved(environmentId);
    }
    while ((await this.#find(environmentId)) !== undefined) {
      if (signal.aborted) throw new PerdureError("OPS0004", `${name} is still being deleted`);
      await pause(clock, ERASE_POLL_MS, signal);
    }
    for (const secret of [signingKeyName(environmentId), tunnelTokenName(environmentId)]) {
      await client.delete(resources.secrets, secret, this.#options.namespace, { signal });
    }
    this.#markRemoved(environmentId);
  }

  async #find(environmentId: EnvironmentId): Promise<EnvironmentResource | undefined> {
    return this.#ports.client.find<EnvironmentResource>(resources.environments, objectNameOf(environmentId), undefined, {
      signal: this.#stop.signal,
    });
  }

  /** Patches some fields of an existing object under a separate field manager, so that the applied fields keep their owner. */
  async #patch(environmentId: EnvironmentId, annotations: Readonly<Record<string, string>>, spec: object): Promise<void> {
    const present = await this.#find(environmentId);
    if (present === undefined) return;
    const { client } = this.#ports;
    const operations = [
      ...Object.entries(annotations).map(([key, value]) => {
        return { op: "add" as const, path: `/metadata/annotations/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, value };
      }),
      ...Object.entries(spec).map(([field, value]) => ({ op: "add" as const, path: `/spec/${field}`, value: value as unknown })),
    ];
    const whole =
      present.metadata.annotations === undefined ? [{ op: "add" as const, path: "/metadata/annotations", value: {} }] : [];
    try {
      const target = { name: objectNameOf(environmentId) };
      await client.patch<KubeObject>(resources.environments, target, [...whole, ...operations], { signal: this.#stop.signal });
    } catch (cause) {
      if (!isNotFound(cause)) throw cause; // Already deleted, which is the goal.
    }
  }

  // ── reports ────────────────────────────────────────────────────────────────────────────────────

  #markRemoved(environmentId: EnvironmentId): void {
    this.#pendingGenerations.delete(environmentId);
    this.#removed.add(environmentId);
    this.#notify(environmentId);
  }

  #notify(environmentId: EnvironmentId): void {
    const name = objectNameOf(environmentId);
    const environment = this.#environments.get(name);
    const appliedGeneration = environment === undefined ? undefined : appliedGenerationOf(environment);
    if (appliedGeneration === undefined) this.#removed.delete(environmentId); // The local copy shows it as removed, too.
    const pending = this.#pendingGenerations.get(environmentId);
    if (pending !== undefined && isIn(pending, environment)) this.#pendingGenerations.delete(environmentId);
    const state = this.state(environmentId);
    const text = JSON.stringify(state) ?? "";
    if ((this.#reportedStates.get(environmentId) ?? "") === text) return;
    if (state === undefined) this.#reportedStates.delete(environmentId);
    else this.#reportedStates.set(environmentId, text);
    for (const listener of this.#listeners) listener(environmentId, state);
  }

  /** Runs the operations on one environment one after the other. */
  #inTurn(environmentId: EnvironmentId, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(environmentId) ?? Promise.resolve();
    const mine = before.catch(() => undefined).then(work); // The caller of the earlier operation received its failure.
    const done = mine
      .catch(() => undefined)
      .finally(() => {
        if (this.#turns.get(environmentId) === done) this.#turns.delete(environmentId);
      });
    this.#turns.set(environmentId, done);
    return mine;
  }
}
