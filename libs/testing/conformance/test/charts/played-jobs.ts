/**
 * Why: helm waits for the pods of its hooks, and no kubelet runs them here. So the test does: each such pod becomes the real program that its image
 * stands for, with the arguments and the environment that the template gives it.
 */
import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import type { ControlPlane } from "@perdure/servers";
import { type Container, NAMESPACE, type Variable } from "./release.js";

const POLL_MS = 50;

interface Pod {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly containers: readonly [Container] };
  readonly status?: { readonly phase?: string };
}

/** A pod that has ended. */
export interface Played {
  readonly component: string;
  readonly isGood: boolean;
  readonly output: string;
  /** Deployments that there were in the namespace when it began. */
  readonly deployments: readonly string[];
}

/** Paths of main modules, by the name of the program's image. */
export type Bundles = Readonly<Record<string, string>>;

export class PlayedJobs implements AsyncDisposable {
  readonly played: Played[] = [];
  readonly #kubernetes: ControlPlane;
  readonly #bundles: Bundles;
  readonly #startedJobs = new Set<string>();
  readonly #running: Promise<void>;
  #isOpen = true;

  constructor(kubernetes: ControlPlane, bundles: Bundles) {
    this.#kubernetes = kubernetes;
    this.#bundles = bundles;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (this.#isOpen) {
      const { items } = (await this.#get(`/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=job-name`)) as {
        items: readonly Pod[];
      };
      for (const pod of items) {
        if (this.#startedJobs.has(pod.metadata.name)) continue;
        this.#startedJobs.add(pod.metadata.name);
        await this.#play(pod);
      }
      await delay(POLL_MS);
    }
  }

  async #play({ metadata, spec }: Pod): Promise<void> {
    const { items } = (await this.#get(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`)) as { items: readonly Pod[] };
    const [container] = spec.containers;
    const program = /\/perdure-([a-z-]+):/.exec(container.image)?.[1] ?? "";
    const bundle = this.#bundles[program];
    if (bundle === undefined) throw new Error(`unexpected Job of ${container.image}`);
    const env = Object.fromEntries(
      await Promise.all(container.env.map(async (variable) => this.#value(variable, metadata.name))),
    );
    // The only thing that a pod has besides: a way to the API server.
    const kubeconfig = { KUBECONFIG: await this.#kubernetes.kubeconfigFile() };
    const { isGood, output } = await run([bundle, ...(container.args ?? [])], {
      PATH: process.env["PATH"],
      ...kubeconfig,
      ...env,
    });
    const component = metadata.labels["app.kubernetes.io/component"] as string;
    this.played.push({ component, isGood, output, deployments: items.map((one) => one.metadata.name) });
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}/status`;
    const body = { status: { phase: isGood ? "Succeeded" : "Failed" } };
    const { status, text } = await this.#kubernetes.request({ method: "PATCH", path, body });
    if (status !== 200) throw new Error(text);
  }

  async #value({ name, value, valueFrom }: Variable, pod: string): Promise<readonly [string, string]> {
    if (valueFrom === undefined) return [name, value ?? ""];
    const { secretKeyRef, fieldRef } = valueFrom as {
      readonly secretKeyRef?: { readonly name: string; readonly key: string };
      readonly fieldRef?: { readonly fieldPath: string };
    };
    if (secretKeyRef !== undefined) {
      const secret = await this.#get(`/api/v1/namespaces/${NAMESPACE}/secrets/${secretKeyRef.name}`);
      const text = (secret as { data: Record<string, string> }).data[secretKeyRef.key] ?? "";
      return [name, Buffer.from(text, "base64").toString()];
    }
    if (fieldRef?.fieldPath !== "metadata.name") throw new Error(`unknown: ${name} is`);
    return [name, pod];
  }

  async #get(path: string): Promise<unknown> {
    const { status, text } = await this.#kubernetes.request({ path });
    if (status !== 200) throw new Error(`${path}: ${text}`);
    return JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOpen = false;
    await this.#running;
  }
}

function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ readonly isGood: boolean; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout, stderr) =>
      resolve({ isGood: error === null, output: stdout + stderr }),
    );
  });
}
