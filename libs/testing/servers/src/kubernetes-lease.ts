/**
 * A control plane takes three seconds of processor time to start, and most suites need only an empty one. The runner of the tests starts
 * one for each of its workers (`shared-kubernetes.ts`); a suite gets it empty, and leaves it empty. A suite that runs without the runner
 * starts its own.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ControlPlane, type ControlPlaneAccess } from "./control-plane.js";
import { type EtcdContents, readEtcd, restoreEtcd } from "./etcd.js";
import { type KubernetesServer, startKubernetes } from "./kubernetes.js";
import { READY_MS_MAX, READY_POLL_MS } from "./limits.js";

/** The variable in which the runner publishes the files of its control planes, one for each worker: paths in JSON. */
const SHARED_KUBERNETES = "SHARED_KUBERNETES";
/** Users besides `admin`: the operator of the suites, with the rights that a suite gives it. */
const SHARED_USERS: Readonly<Record<string, readonly string[]>> = { "perdure-operator": [] };

/** Fields of such a file, in JSON. */
interface SharedControlPlane {
  readonly access: ControlPlaneAccess;
  readonly etcdPort: number;
  /** Kubeconfig of the empty control plane. */
  readonly contents: EtcdContents;
}

export interface LeasedControlPlane extends ControlPlane {
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A control plane with controllers, whose users are `admin` and `perdure-operator`; it holds only what Kubernetes creates itself. A suite
 * that stops its parts, or needs other users or flags, starts one of its own with `startKubernetes`.
 */
export async function leaseKubernetes(): Promise<LeasedControlPlane> {
  const files = process.env[SHARED_KUBERNETES];
  if (files === undefined) return startKubernetes({ users: SHARED_USERS });
  // Jest numbers its workers from 1; a suite that runs alone is in the first.
  const file = (JSON.parse(files) as readonly string[])[Number(process.env["JEST_WORKER_ID"] ?? "1") - 1];
  if (file === undefined) throw new Error(`there is no control plane for worker ${process.env["JEST_WORKER_ID"]}`);
  const shared = JSON.parse(await readFile(file, "utf8")) as SharedControlPlane;
  await empty(shared); // A suite that was interrupted has not.
  return new ControlPlaneLease(shared);
}

/** Starts a control plane for suites to lease, one after the other. */
export async function startSharedKubernetes(): Promise<{ readonly file: string; readonly server: KubernetesServer }> {
  const server = await startKubernetes({ users: SHARED_USERS });
  for (const deadline = performance.now() + READY_MS_MAX; !(await hasAccounts(server)); await sleep(READY_POLL_MS)) {
    if (performance.now() > deadline) throw new Error("a namespace of the shared control plane has no account");
  }
  const file = join(server.directory, "shared.json");
  const { access, etcdPort } = server;
  const shared: SharedControlPlane = { access, etcdPort, contents: await readEtcd(etcdPort) };
  await writeFile(file, JSON.stringify(shared), { mode: 0o600 });
  return { file, server };
}

/** Controllers have made all default objects of a control plane when each namespace has its account. */
async function hasAccounts(server: KubernetesServer): Promise<boolean> {
  const { text } = await server.request({ path: "/api/v1/serviceaccounts?fieldSelector=metadata.name%3Ddefault" });
  return (JSON.parse(text) as { readonly items?: readonly object[] }).items?.length === NAMESPACES_OF_KUBERNETES.size;
}

class ControlPlaneLease extends ControlPlane implements LeasedControlPlane {
  readonly #shared: SharedControlPlane;

  constructor(shared: SharedControlPlane) {
    super(shared.access);
    this.#shared = shared;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return empty(this.#shared);
  }
}

/** Resolves when the API server, which answers from a cache, has the state of etcd. */
async function empty({ access, etcdPort, contents }: SharedControlPlane): Promise<void> {
  const controlPlane = new ControlPlane(access);
  for (const deadline = performance.now() + READY_MS_MAX; ; await sleep(READY_POLL_MS)) {
    // Again: controllers that were at work may have written once more.
    await restoreEtcd(etcdPort, contents);
    const left = await leftIn(controlPlane);
    if (left.length === 0) return;
    if (performance.now() > deadline) throw new Error(`the shared control plane still has ${left.join(", ")}`);
  }
}

/** Lists that are empty in a new control plane, but for the namespaces of Kubernetes. */
const PUT_THERE = [
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
  "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
  "/api/v1/persistentvolumes",
  "/api/v1/pods",
  "/api/v1/secrets",
  "/api/v1/namespaces",
];
const NAMESPACES_OF_KUBERNETES = new Set(["default", "kube-node-lease", "kube-public", "kube-system"]);

async function leftIn(controlPlane: ControlPlane): Promise<readonly string[]> {
  const lists = await Promise.all(
    PUT_THERE.map(async (path) => {
      const { status, text } = await controlPlane.request({ path });
      if (status !== 200) return [`${path}: ${status}`];
      const { items } = JSON.parse(text) as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
      return items.map(({ metadata }) => metadata.name).filter((name) => !NAMESPACES_OF_KUBERNETES.has(name));
    }),
  );
  return lists.flat();
}
