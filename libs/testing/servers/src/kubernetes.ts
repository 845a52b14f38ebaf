/**
 * Starts a whole control plane on free ports of this machine, because an operator can only be tested against a real API server: etcd, an
 * API server with RBAC and the usual admission, and the controllers that make pods of StatefulSets and collect garbage. There is no kubelet
 * and no scheduler: a test that needs running pods updates their status itself.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ADMIN, ControlPlane, type ControlPlaneAccess, kubeconfigOf } from "./control-plane.js";
import { requestEtcd } from "./etcd.js";
import { freePorts } from "./free-port.js";
import { kubernetesPrograms } from "./kube-programs.js";
import { type KubernetesAnswer, requestKubernetes } from "./kube-request.js";
import { PORT_ATTEMPTS_MAX } from "./limits.js";
import { launchServer, ServerProgram } from "./server-program.js";
import { type DataDirectory, dataDirectory } from "./temporary.js";

export interface KubernetesOptions {
  /** Users besides `admin`, each with its groups; RBAC decides their rights. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  /** Whether controllers run; true when absent. */
  readonly controllers?: boolean;
  /** Flags of kube-apiserver that add to ours or replace them. */
  readonly apiServerFlags?: Readonly<Record<string, string>>;
}

/** Controllers that act on our objects, out of all that Kubernetes has. */
const CONTROLLERS = [
  "garbage-collector-controller",
  "namespace-controller",
  "statefulset-controller",
  "replicaset-controller",
  "deployment-controller",
  "job-controller",
  "cronjob-controller",
  "disruption-controller",
  "endpointslice-controller",
  "horizontal-pod-autoscaler-controller",
  "resourcequota-controller",
  "serviceaccount-controller",
  "persistentvolumeclaim-protection-controller",
];

interface ControlPlanePorts {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly api: number;
}

export class KubernetesServer extends ControlPlane implements AsyncDisposable {
  readonly etcd: ServerProgram;
  readonly apiServer: ServerProgram;
  /** Undefined without controllers. */
  readonly controllerManager: ServerProgram | undefined;
  /** Address of etcd, without TLS. */
  readonly etcdPort: number;
  readonly #data: DataDirectory;

  private constructor({ access, etcdPort, etcd, apiServer, controllerManager }: Started, data: DataDirectory) {
    super(access);
    this.etcdPort = etcdPort;
    this.etcd = etcd;
    this.apiServer = apiServer;
    this.controllerManager = controllerManager;
    this.#data = data;
  }

  static async start(options: KubernetesOptions): Promise<KubernetesServer> {
    for (let attempt = 1; ; attempt++) {
      const data = await dataDirectory("kubernetes", undefined);
      try {
        return new KubernetesServer(await startParts(data.path, options), data);
      } catch (cause) {
        await data.remove();
        const isPortInUse = cause instanceof Error && /address already in use/.test(cause.message);
        if (!isPortInUse || attempt >= PORT_ATTEMPTS_MAX) throw cause;
      }
    }
  }

  /** Compacts the history of etcd: a client that watches or lists from an earlier version gets the error that it has expired. */
  async compactHistory(): Promise<void> {
    const { header } = (await requestEtcd(this.etcdPort, "maintenance/status", {})) as { header?: { revision?: string } };
    await requestEtcd(this.etcdPort, "kv/compaction", { revision: header?.revision, physical: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.controllerManager?.kill(), this.apiServer.kill()]); // Not stopped in order: the data are removed.
    await this.etcd.kill();
    await this.#data.remove();
  }
}

/** Ready for requests when it resolves. The first one on a machine compiles Kubernetes: minutes. */
export function startKubernetes(options: KubernetesOptions = {}): Promise<KubernetesServer> {
  return KubernetesServer.start(options);
}

// ── its parts ────────────────────────────────────────────────────────────────────────────────────

interface Started {
  readonly access: ControlPlaneAccess;
  readonly etcdPort: number;
  readonly etcd: ServerProgram;
  readonly apiServer: ServerProgram;
  readonly controllerManager: ServerProgram | undefined;
}

async function startParts(directory: string, options: KubernetesOptions): Promise<Started> {
  const programs = await kubernetesPrograms();
  const [etcdPort, etcdPeer, api] = (await freePorts(3)) as [number, number, number];
  const ports: ControlPlanePorts = { etcd: etcdPort, etcdPeer, api };
  const tokens = await writeCredentials(directory, options.users ?? {});
  const token = tokens[ADMIN] as string;
  const parts: ServerProgram[] = [];
  const start = async (command: string, flags: Flags, isReady: () => Promise<boolean>): Promise<ServerProgram> => {
    const part = new ServerProgram(await launchServer({ command, args: flagsOf(flags), cwd: directory }, isReady), isReady);
    parts.push(part);
    return part;
  };
  try {
    const etcd = await start(programs.etcd, etcdFlags(directory, ports), () => isHealthy(ports.etcd));
    const flags = { ...apiServerFlags(directory, ports), ...options.apiServerFlags };
    // The API server writes its certificate, and that of its authority, when it starts.
    const certificate = (): Promise<string> => readFile(join(directory, "certificates", "apiserver.crt"), "utf8");
    const apiServer = await start(programs.apiServer, flags, async () => isReady(api, await certificate().catch(nothing), token));
    const ca = await certificate();
    const controllerManager = await startControllers(options, async () => {
      await writeFile(join(directory, "controllers.json"), kubeconfigOf({ port: api, ca }, token), { mode: 0o600 });
      return start(programs.controllerManager, controllerFlags(directory), () => hasDefaults(api, ca, token));
    });
    return { access: { port: api, ca, tokens, directory }, etcdPort, etcd, apiServer, controllerManager };
  } catch (cause) {
    for (const part of parts.toReversed()) await part.kill();
    throw cause;
  }
}

async function startControllers(
  { controllers = true }: KubernetesOptions,
  start: () => Promise<ServerProgram>,
): Promise<ServerProgram | undefined> {
  return controllers ? start() : undefined;
}

const nothing = (): undefined => undefined;

/** Tokens by user; the files that the API server reads. */
async function writeCredentials(
  directory: string,
  users: Readonly<Record<string, readonly string[]>>,
): Promise<Readonly<Record<string, string>>> {
  const all = { ...users, [ADMIN]: ["system:masters"] };
  const tokens = Object.fromEntries(Object.keys(all).map((user) => [user, randomBytes(24).toString("hex")]));
  const lines = Object.entries(all).map(([user, groups]) => `${tokens[user]},${user},${user},"${groups.join(",")}"\n`);
  await writeFile(join(directory, "tokens.csv"), lines.join(""), { mode: 0o600 });
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await writeFile(join(directory, "accounts.key"), privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  await writeFile(join(directory, "accounts.pub"), publicKey.export({ type: "spki", format: "pem" }));
  return tokens;
}

type Flags = Readonly<Record<string, string>>;

const flagsOf = (flags: Flags): string[] => Object.entries(flags).map(([name, value]) => `--${name}=${value}`);

function etcdFlags(directory: string, { etcd, etcdPeer }: ControlPlanePorts): Flags {
  return {
    "data-dir": join(directory, "etcd"),
    "listen-client-urls": `http://127.0.0.1:${etcd}`,
    "advertise-client-urls": `http://127.0.0.1:${etcd}`,
    "listen-peer-urls": `http://127.0.0.1:${etcdPeer}`,
    "initial-advertise-peer-urls": `http://127.0.0.1:${etcdPeer}`,
    "initial-cluster": `default=http://127.0.0.1:${etcdPeer}`,
    "log-level": "warn",
    // Acknowledged writes survive a crash of the process, though not of the machine; and tests do not wait for the disk.
    "unsafe-no-fsync": "true",
  };
}

function apiServerFlags(directory: string, { etcd, api }: ControlPlanePorts): Flags {
  return {
    "etcd-servers": `http://127.0.0.1:${etcd}`,
    "bind-address": "127.0.0.1",
    "advertise-address": "127.0.0.1",
    "secure-port": String(api),
    "cert-dir": join(directory, "certificates"),
    "token-auth-file": join(directory, "tokens.csv"),
    "authorization-mode": "RBAC",
    "anonymous-auth": "false",
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": join(directory, "accounts.pub"),
    "service-account-signing-key-file": join(directory, "accounts.key"),
    "service-cluster-ip-range": "10.96.0.0/12",
    // No client reaches the service `kubernetes` here, and it must not lead to a loopback address.
    "endpoint-reconciler-type": "none",
    // It would let pods wait for the tokens of their accounts.
    "disable-admission-plugins": "ServiceAccount",
    v: "1",
  };
}

function controllerFlags(directory: string): Flags {
  return {
    kubeconfig: join(directory, "controllers.json"),
    controllers: CONTROLLERS.join(","),
    "leader-elect": "false",
    "secure-port": "0",
    "kube-api-qps": "500",
    "kube-api-burst": "1000",
    "concurrent-namespace-syncs": "20",
    v: "1",
  };
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false; // Not listening yet.
  }
}

async function isReady(port: number, ca: string | undefined, token: string): Promise<boolean> {
  if (ca === undefined) return false;
  return (await answer(port, ca, token, "/readyz"))?.status === 200;
}

/** The first visible result of the controllers: the default account of the default namespace. */
async function hasDefaults(port: number, ca: string, token: string): Promise<boolean> {
  return (await answer(port, ca, token, "/api/v1/namespaces/default/serviceaccounts/default"))?.status === 200;
}

async function answer(port: number, ca: string, token: string, path: string): Promise<KubernetesAnswer | undefined> {
  try {
    return await requestKubernetes({ port, ca, token }, { path });
  } catch {
    return undefined; // Not listening yet.
  }
}
