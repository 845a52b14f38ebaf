/**
 * A cell of hundreds of environments, on a machine that could not run a hundredth of their pods: the reports of controllers and kubelets
 * are written at once, so that only the operator and its API server are measured.
 */
import { randomBytes } from "node:crypto";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, Reflector, type ReflectorPorts, resources } from "@perdure/kubernetes";
import { anEnvironment, conditionOf } from "./world.js";

/** Environments that are created at the same time. */
const CREATED_AT_ONCE = 16;

export class Crowd implements AsyncDisposable {
  readonly #client: KubernetesClient;
  readonly #environments: Reflector<EnvironmentResource>;
  readonly #stop = new AbortController();
  readonly #watching: Promise<unknown>;
  readonly #reporting = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];

  private constructor(client: KubernetesClient, ports: Omit<ReflectorPorts, "client">) {
    this.#client = client;
    this.#environments = new Reflector<EnvironmentResource>({ resource: resources.environments }, { ...ports, client });
    const sets = [resources.statefulSets, resources.deployments].map((resource) => {
      const reflector = new Reflector<KubeObject>({ resource }, { ...ports, client });
      reflector.onChange((object, change) => {
        if (change !== "deleted" && change !== "resync") this.#report(object);
      });
      return reflector;
    });
    this.#watching = Promise.all([this.#environments, ...sets].map((reflector) => reflector.run(this.#stop.signal)));
  }

  static async start(client: KubernetesClient, ports: Omit<ReflectorPorts, "client">): Promise<Crowd> {
    const crowd = new Crowd(client, ports);
    await crowd.#environments.synced;
    return crowd;
  }

  get size(): number {
    return [...this.#environments.values()].length;
  }

  get ready(): number {
    return [...this.#environments.values()].filter((one) => conditionOf(one, "Ready")?.status === "True").length;
  }

  /** So many more, as fast as the API server takes them. */
  async grow(count: number): Promise<void> {
    let left = count;
    const create = async (): Promise<void> => {
      for (; left > 0; ) {
        left--;
        const environment = anEnvironment(`env_${randomBytes(8).toString("hex")}`);
        await this.#client.create(environment, { manager: "crowd" });
      }
    };
    await Promise.all(Array.from({ length: CREATED_AT_ONCE }, create));
  }

  /** Resolves when so many are ready. Rejects with how many were when that takes longer than `withinMs`. */
  async untilReady(count: number, withinMs: number): Promise<void> {
    for (const deadline = performance.now() + withinMs; this.ready < count; ) {
      if (this.#failures.length > 0) throw this.#failures[0];
      if (performance.now() > deadline) {
        const one = [...this.#environments.values()].find((other) => conditionOf(other, "Ready")?.status !== "True");
        throw new Error(`${this.ready} of ${count} are ready after ${withinMs} ms; one is ${JSON.stringify(one?.status)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Reports all requested pods as running with the current template. */
  #report(object: KubeObject): void {
    const { name, namespace, generation = 0, uid } = object.metadata;
    const { replicas = 1 } = object["spec"] as { readonly replicas?: number };
    const rollout = object["status"] as { readonly observedGeneration?: number; readonly readyReplicas?: number } | undefined;
    if (rollout?.observedGeneration === generation && (rollout.readyReplicas ?? 0) === replicas) return;
    const counts = { replicas, readyReplicas: replicas, availableReplicas: replicas, updatedReplicas: replicas };
    const isSet = object.kind === "StatefulSet";
    const status = { observedGeneration: generation, ...counts, ...(isSet ? { currentReplicas: replicas } : {}) };
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) };
    const { apiVersion, kind } = object;
    const reporting = this.#client
      .apply({ apiVersion, kind, metadata, status }, { manager: "controllers", force: true, subresource: "status" })
      .then(
        () => undefined,
        (cause: unknown) => {
          if (!this.#stop.signal.aborted) this.#failures.push(cause);
        },
      )
      .finally(() => this.#reporting.delete(reporting));
    this.#reporting.add(reporting);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await Promise.all(this.#reporting);
  }
}
