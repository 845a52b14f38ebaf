/**
 * An environment whose pods are processes: applied by kubectl, made ready by the operator, the real controllers and a kubelet of tests,
 * used by clients, damaged, and deleted.
 */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { programBundle } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
import { freePorts, type PostgresServer, runKubectl, startPostgres } from "@perdure/servers";
import { stringify } from "yaml";
import { cell } from "./cell.js";
import { eventually } from "./eventually.js";
import { PROGRAMS } from "./real-kubelet/images.js";
import type { RealKubelet } from "./real-kubelet/kubelet.js";
import { anEnvironment, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 300_000;
const READY_MS = 120_000;
const root = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

let postgres: PostgresServer;
let world: World<RealKubelet>;
let kubeconfig: string;
let directory: string;

beforeAll(async () => {
  for (const service of PROGRAMS) await programBundle(`services/${service}`);
  postgres = await startPostgres();
  world = await World.startReal(postgres.url);
  world.startOperator();
  kubeconfig = await world.kubernetes.kubeconfigFile();
  directory = await mkdtemp(join(tmpdir(), "perdure-real-pods-"));
}, FIRST_MS);

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
}, TEST_MS);

/** The example as `make run` runs it: a program of its own. */
class Greeter implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProgram;

  private constructor(child: ChildProgram, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<Greeter> {
    const [port] = (await freePorts(1)) as [number];
    const child = await ChildProgram.start({
      name: "the greeter",
      command: process.execPath,
      args: [root("deploy/examples/greeter/src/main.ts")],
      env: { PATH: process.env["PATH"], PORT: String(port) },
    });
    const greeter = new Greeter(child, port);
    await greeter.said("listening on");
    return greeter;
  }

  get lines(): readonly string[] {
    return this.#child.lines;
  }

  async said(text: string): Promise<void> {
    await this.#child.ready(() => this.lines.some((line) => line.includes(text)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill();
  }
}

/** The last output of pods is usually the reason. */
async function explained<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (cause) {
    throw new Error(`${(cause as Error).message}\n${world.kubelet.lastOutput()}`, { cause });
  }
}

async function post(url: string, body: unknown): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

test(
  "kubectl apply makes an environment in which the example runs, also when both workers are killed in the middle",
  async () => {
    await using greeter = await Greeter.start();
    const id = "env_greeter0123456789";
    const spec = {
      workers: { replicas: 2, drainSeconds: 5 },
      reclaimPolicy: "Delete",
      deletionProtection: false,
    };
    const manifest = join(directory, "environment.yaml");
    await writeFile(manifest, stringify(anEnvironment(id, spec)));
    expect(await runKubectl(kubeconfig, "apply", "-f", manifest)).toContain("created");
    const name = "env-greeter0123456789";
    await explained(world.until(name, (one) => one?.status?.phase === "Running", READY_MS));

    const runtime = world.kubelet.addressOf(`runtime.${name}.svc.${cell.clusterDns}`);
    await post(`http://${runtime}:9070/deployments`, { uri: greeter.url });
    const ingress = `http://${runtime}:8080`;
    expect(await post(`${ingress}/Counter/guests/add`, 3)).toBe(3);
    const party = post(`${ingress}/Greeter/party`, "Ada");
    await greeter.said(`began "bake the cake"`);
    const { length: before } = greeter.lines;
    process.kill(world.kubelet.pod(name, "worker-0").container("worker").pid as number, "SIGKILL");
    process.kill(world.kubelet.pod(name, "worker-1").container("worker").pid as number, "SIGKILL");
    expect(await party).toBe("Ada's party is ready: 6 steps.");
    expect(greeter.lines.slice(before)).not.toContain(`ran "invite the friends" for Ada`);
    expect(await post(`${ingress}/Counter/guests/add`, 1)).toBe(4);

    expect(await runKubectl(kubeconfig, "get", "environment", name)).toMatch(/env-greeter0123456789\s+True/);
    expect(await runKubectl(kubeconfig, "delete", "environment", name)).toContain("deleted");
    await eventually(async () => world.kubelet.pods(name).length === 0);
  },
  TEST_MS,
);
