/**
 * A node of the cluster for tests, because an operator is right when the pods that it creates run. It takes every pod, runs its containers
 * as processes of this machine, each pod with an address and names as in a cluster, probes them, reports their status to the API server,
 * and ends them with their pod. It does not cover isolation (users, file systems, limits, NetworkPolicies), images, scheduling and volumes
 * of a storage.
 */
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type KubeObject,
  KubernetesApiError,
  type KubernetesClient,
  pathOf,
  Reflector,
  type ReflectorPorts,
  resources,
} from "@perdure/kubernetes";
import type { ControlPlane } from "@perdure/servers";
import { imagesIn } from "./images.js";
import { ENDPOINT_SLICES, type EndpointSlice, Names, type PodNumber } from "./names.js";
import type { Pod } from "./pod-spec.js";
import { RunningPod, removePod } from "./running-pod.js";

const NODE = "here";

interface Claim extends KubeObject {
  readonly spec: {
    readonly resources: { readonly requests: { readonly storage: string } };
    readonly accessModes: readonly string[];
  };
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage?: string } };
}

export interface RealKubeletOptions {
  readonly kubernetes: ControlPlane;
  readonly clusterDns: string;
}

export class RealKubelet implements AsyncDisposable {
  readonly #options: RealKubeletOptions;
  readonly #client: KubernetesClient;
  readonly #directory: string;
  readonly #imageOf: Awaited<ReturnType<typeof imagesIn>>;
  readonly #names: Names;
  readonly #pods: Reflector<Pod>;
  readonly #running = new Map<string, { readonly pod: RunningPod; readonly done: Promise<void> }>();
  readonly #under = new Set<Promise<void>>();
  readonly #bound = new Set<string>();
  readonly #failures: unknown[] = [];
  readonly #stop = new AbortController();
  readonly #watching: Promise<unknown>;
  #lastNumber = 0;

  private constructor(
    options: RealKubeletOptions,
    client: KubernetesClient,
    ports: Omit<ReflectorPorts, "client">,
    directory: string,
    imageOf: Awaited<ReturnType<typeof imagesIn>>,
  ) {
    this.#options = options;
    this.#client = client;
    this.#directory = directory;
    this.#imageOf = imageOf;
    const all = { ...ports, client };
    this.#pods = new Reflector<Pod>({ resource: resources.pods }, all);
    const slices = new Reflector<EndpointSlice>({ resource: ENDPOINT_SLICES }, all);
    const claims = new Reflector<Claim>({ resource: resources.volumeClaims }, all);
    // One of many, so that suites that run at one time do not meet.
    this.#names = new Names(join(directory, "names.json"), randomInt(16, 250), options.clusterDns, slices);
    slices.onChange(() => this.#names.writeSoon());
    this.#pods.onChange((pod, change) => this.#do(() => (change === "deleted" ? this.#discard(pod) : this.#sync(pod))));
    claims.onChange((claim, change) => change !== "deleted" && this.#do(() => this.#bindClaim(claim)));
    this.#watching = Promise.all([this.#pods, slices, claims].map((one) => one.run(this.#stop.signal)));
  }

  static async start(
    options: RealKubeletOptions,
    client: KubernetesClient,
    ports: Omit<ReflectorPorts, "client">,
  ): Promise<RealKubelet> {
    const body = { metadata: { name: NODE } };
    const { status, text } = await options.kubernetes.request({ method: "POST", path: "/api/v1/nodes", body });
    if (status !== 201) throw new Error(text);
    const directory = await mkdtemp(join(tmpdir(), "perdure-kubelet-"));
    return new RealKubelet(options, client, ports, directory, await imagesIn(directory));
  }

  pods(namespace: string): readonly RunningPod[] {
    return [...this.#running.values()].map(({ pod }) => pod).filter(({ pod }) => pod.metadata.namespace === namespace);
  }

  pod(namespace: string, name: string): RunningPod {
    const match = this.pods(namespace).find(({ pod }) => pod.metadata.name === name);
    if (match === undefined) throw new Error(`no pod ${name} runs in ${namespace}`);
    return match;
  }

  /** Returns the address behind a name of the cluster; throws when there is none. */
  addressOf(name: string): string {
    const [address] = this.#names.addressesOf(name);
    if (address === undefined) throw new Error(`${name} leads nowhere`);
    return address;
  }

  /** Returns the last output of all pods, for developers who investigate a failed test. */
  lastOutput(): string {
    return [...this.#running.values()].map(({ pod }) => pod.lastOutput()).join("\n");
  }

  /** Conflicts and missing objects are outdated states: the next event has the current one. */
  #do(work: () => Promise<unknown>): void {
    const doing = work()
      .then(() => undefined)
      .catch((cause: unknown) => {
        const isPast = cause instanceof KubernetesApiError && (cause.status === 404 || cause.status === 409);
        if (!isPast && !this.#stop.signal.aborted) this.#failures.push(cause);
      })
      .finally(() => this.#under.delete(doing));
    this.#under.add(doing);
  }

  async #sync(pod: Pod): Promise<void> {
    const { uid = "", deletionTimestamp } = pod.metadata;
    const running = this.#running.get(uid);
    if (deletionTimestamp !== undefined) {
      if (running === undefined) await removePod(this.#client, pod);
      else await this.#end(pod, running.pod);
      return;
    }
    if (running !== undefined) return;
    if (pod.spec.nodeName === undefined) await this.#bind(pod);
    else this.#start(pod, uid);
  }

  readonly #ending = new Set<string>();

  async #end(pod: Pod, running: RunningPod): Promise<void> {
    const { uid = "" } = pod.metadata;
    if (this.#ending.has(uid)) return;
    this.#ending.add(uid);
    await running.end((pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000);
    this.#running.delete(uid);
    await removePod(this.#client, pod);
  }

  #start(pod: Pod, uid: string): void {
    const { clusterDns } = this.#options;
    const ports = { client: this.#client, names: this.#names, imageOf: this.#imageOf, directory: this.#directory, clusterDns };
    const running = new RunningPod(pod, this.#nextNumber(), ports);
    const done = running.run().catch((cause: unknown) => void this.#failures.push(cause));
    this.#running.set(uid, { pod: running, done });
  }

  /** Deleted by force, since no kubelet confirms the end. */
  async #discard({ metadata }: Pod): Promise<void> {
    const running = this.#running.get(metadata.uid ?? "");
    this.#running.delete(metadata.uid ?? "");
    await running?.pod.kill();
  }

  /** Binds the pod to this node: there is no scheduler. */
  async #bind({ metadata }: Pod): Promise<void> {
    const { name, namespace, uid = "" } = metadata;
    if (this.#bound.has(uid)) return;
    this.#bound.add(uid);
    const body = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target: { apiVersion: "v1", kind: "Node", name: NODE },
    };
    const path = pathOf(resources.pods, namespace, name, "binding");
    const { status, text } = await this.#options.kubernetes.request({ method: "POST", path, body });
    if (status !== 201 && status !== 404 && status !== 409) throw new Error(`${name} cannot be bound: ${text}`);
  }

  /** Simulates a storage that gives each claim the requested size, also a larger one later. */
  async #bindClaim({ metadata, spec, status }: Claim): Promise<void> {
    const { storage } = spec.resources.requests;
    if (status?.phase === "Bound" && status.capacity?.storage === storage) return;
    const { name, namespace } = metadata;
    const bound = { phase: "Bound", accessModes: spec.accessModes, capacity: { storage } };
    const applied = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
      status: bound,
    };
    await this.#client.apply(applied, { manager: "storage", force: true, subresource: "status" });
  }

  #nextNumber(): PodNumber {
    this.#lastNumber += 1;
    return [1 + Math.floor(this.#lastNumber / 250), 1 + (this.#lastNumber % 250)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await Promise.all([...this.#running.values()].map(({ pod }) => pod.kill()));
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    await Promise.all(this.#under);
    this.#names[Symbol.dispose]();
    await rm(this.#directory, { recursive: true, force: true });
    if (this.#failures.length > 0) throw this.#failures[0];
  }
}
