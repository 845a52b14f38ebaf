/** A pod: its containers with what they share, from its assignment to this node until nothing of it runs any more. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { KubernetesApiError, type KubernetesClient, resources } from "@perdure/kubernetes";
import { type Command, Container } from "./container.js";
import type { Image } from "./images.js";
import { expanded, makeVolumes, References, rewriterOf, variablesOf } from "./inputs.js";
import { clusterAddress, type Names, type PodNumber } from "./names.js";
import type { ContainerSpec, Pod } from "./pod-spec.js";

export interface PodPorts {
  readonly client: KubernetesClient;
  readonly names: Names;
  readonly imageOf: (reference: string) => Image;
  /** Directory of the kubelet; pods have directories of their own below it. */
  readonly directory: string;
  readonly clusterDns: string;
}

export class RunningPod {
  readonly pod: Pod;
  readonly #ports: PodPorts;
  readonly #clusterAddress: string;
  readonly #address: string;
  readonly #directory: string;
  readonly #stop = new AbortController();
  readonly #containers: Container[] = [];
  readonly #startedAt = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  #written = "";
  #writing: Promise<void> = Promise.resolve();
  #failures: unknown[] = [];

  constructor(pod: Pod, number: PodNumber, ports: PodPorts) {
    this.pod = pod;
    this.#ports = ports;
    this.#clusterAddress = clusterAddress(number);
    this.#address = ports.names.carrying(this.#clusterAddress);
    this.#directory = join(ports.directory, "pods", pod.metadata.uid ?? pod.metadata.name);
  }

  /** Address of the pod's ports. */
  get address(): string {
    return this.#address;
  }

  container(name: string): Container {
    const match = this.#containers.find(({ spec }) => spec.name === name);
    if (match === undefined) throw new Error(`${this.pod.metadata.name} has no container ${name} yet`);
    return match;
  }

  lastOutput(): string {
    return this.#containers
      .map((one) => `── ${this.pod.metadata.name}/${one.spec.name}, ready: ${one.isReady}\n${one.lastOutput()}`)
      .join("\n");
  }

  /** Resolves when the pod was stopped and nothing of it runs; rejects when its spec has what this kubelet does not support. */
  async run(): Promise<void> {
    const { spec, metadata } = this.pod;
    const { signal } = this.#stop;
    if ((spec.initContainers ?? []).length > 0) throw new Error(`${metadata.name} has init containers`);
    const references = new References(this.#ports.client, metadata.namespace as string, signal);
    const claims = join(this.#ports.directory, "claims", metadata.namespace as string);
    try {
      await mkdir(this.#directory, { recursive: true });
      const volumes = await makeVolumes(spec.volumes ?? [], this.#directory, claims, references);
      for (const one of spec.containers) {
        const command = await this.#commandOf(one, volumes, references);
        this.#containers.push(new Container(one, command, this.#address, () => this.#write()));
      }
      if (signal.aborted) return;
      await Promise.all(this.#containers.map((one) => one.run()));
    } catch (cause) {
      if (!signal.aborted) throw cause;
    }
    await this.#writing;
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  async end(graceMs: number): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#containers.map((one) => one.end(graceMs)));
    await rm(this.#directory, { recursive: true, force: true });
  }

  async kill(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#containers.map((one) => one.kill()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #commandOf(one: ContainerSpec, volumes: ReadonlyMap<string, string>, references: References): Promise<Command> {
    const { metadata, spec } = this.pod;
    const image = this.#ports.imageOf(one.image);
    const facts = {
      "metadata.name": metadata.name,
      "metadata.namespace": metadata.namespace ?? "",
      "metadata.uid": metadata.uid ?? "",
      "spec.nodeName": spec.nodeName ?? "",
      "status.podIP": this.#clusterAddress,
    };
    const rewritten = rewriterOf(one, volumes);
    const variables = await variablesOf(one, this.pod, facts, references);
    const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, rewritten(value)]));
    const expandedAll = (list: readonly string[]): string[] => list.map((text) => rewritten(expanded(text, variables)));
    const [command = "", ...args] = [
      ...(one.command === undefined ? image.entrypoint : expandedAll(one.command)),
      ...expandedAll(one.args ?? []),
    ];
    const scratch = (one.volumeMounts ?? []).find(({ mountPath }) => mountPath === "/tmp");
    const path = [image.path, process.env["PATH"]].filter((part) => part !== "").join(":");
    const ours = {
      PATH: path,
      HOSTNAME: metadata.name,
      POD_ADDRESS: this.#address,
      CLUSTER_DNS: this.#ports.clusterDns,
      CLUSTER_NAMES_FILE: this.#ports.names.file,
      ...(scratch === undefined ? {} : { TMPDIR: volumes.get(scratch.name) as string }),
    };
    const file = command.includes("/") || image.path === "" ? command : join(image.path, command);
    return { command: file, args, cwd: this.#directory, env: { ...image.environment, ...env, ...ours } };
  }

  // ── status ─────────────────────────────────────────────────────────────────────────────────────

  /** One write at a time, of what is then. */
  #write(): void {
    this.#writing = this.#writing
      .then(() => this.#writeStatus())
      .catch((cause: unknown) => {
        const isGone = cause instanceof KubernetesApiError && (cause.status === 404 || cause.status === 409);
        if (!isGone && !this.#stop.signal.aborted) this.#failures.push(cause);
      });
  }

  async #writeStatus(): Promise<void> {
    const { name, namespace, uid } = this.pod.metadata;
    const isReady = this.#containers.every((one) => one.isReady);
    const condition = (type: string, isTrue: boolean) => ({ type, status: isTrue ? "True" : "False" });
    const conditions = [
      condition("PodScheduled", true),
      condition("Initialized", true),
      condition("ContainersReady", isReady),
      condition("Ready", isReady),
    ];
    const status = {
      phase: "Running",
      podIP: this.#clusterAddress,
      podIPs: [{ ip: this.#clusterAddress }],
      startTime: this.#startedAt,
      conditions,
      containerStatuses: this.#containers.map((one) => one.status()),
    };
    const text = JSON.stringify(status);
    if (text === this.#written) return;
    const metadata = { name, namespace: namespace as string, ...(uid === undefined ? {} : { uid }) };
    const applied = { apiVersion: "v1", kind: "Pod", metadata, status };
    await this.#ports.client.apply(applied, { manager: "kubelet", force: true, subresource: "status" });
    this.#written = text;
  }
}

export function removePod(client: KubernetesClient, { metadata }: Pod): Promise<boolean> {
  const { name, namespace, uid } = metadata;
  return client.delete(resources.pods, name, namespace, { gracePeriodSeconds: 0, ...(uid === undefined ? {} : { uid }) });
}
