/**
 * A cluster with the interface of `Server`, so that suites for one process run against a cluster too: settings are passed to the roles
 * that have them, with one ingress and one management API.
 */

import { rmSync } from "node:fs";
import { DevCluster, type LocalRole, type RoleSettings, type ServiceProgram } from "@perdure/dev-cluster";
import type { ProgramExit } from "@perdure/processes";
import { type ServerOptions, type TestServer, temporaryDirectory } from "./server.js";

const EVERYBODY: readonly LocalRole[] = ["registry", "admin-api", "invoker-worker", "ingress-gateway"];
/** Roles that have a setting of the single process: the first entry whose prefix matches. */
const SETTING_ROLES: readonly (readonly [prefix: string, roles: readonly LocalRole[]])[] = [
  ["worker.default-", ["registry", "invoker-worker"]],
  ["worker.max-", ["registry", "invoker-worker"]],
  ["worker.invoker.default-retry-policy", ["registry", "invoker-worker"]],
  ["worker.invoker.max-retry-policy", ["registry", "invoker-worker"]],
  ["worker.invoker.inactivity-timeout", ["registry", "invoker-worker"]],
  ["worker.invoker.abort-timeout", ["registry", "invoker-worker"]],
  ["worker.", ["invoker-worker"]],
  ["ingress.kafka-clusters", ["registry"]],
  ["events.", ["registry"]],
  ["ingress.", ["ingress-gateway"]],
  ["admin.", ["admin-api"]],
  ["request-identity-", ["registry", "admin-api", "invoker-worker"]],
  ["tunnels.", ["registry", "invoker-worker"]],
  ["additional-request-headers", ["registry", "admin-api", "invoker-worker"]],
  ["experimental-enable-vqueues", EVERYBODY],
  ["experimental-enable-kafka-scope", ["admin-api", "invoker-worker"]],
  ["cluster-name", EVERYBODY],
  ["tracing-", EVERYBODY],
  ["log-", EVERYBODY],
];

/** Throws for a setting that no process of a cluster has. */
function settingsByRole(settings: RoleSettings): Partial<Record<LocalRole, RoleSettings>> {
  const byRole: Partial<Record<LocalRole, RoleSettings>> = {};
  for (const [name, value] of Object.entries(settings)) {
    const owner = SETTING_ROLES.find(([prefix]) => name.startsWith(prefix));
    if (owner === undefined) throw new Error(`which process of a cluster has the setting '${name}'?`);
    for (const role of owner[1]) byRole[role] = { ...byRole[role], [name]: value };
  }
  return byRole;
}

export class ClusterServer implements TestServer {
  readonly baseDir: string;
  readonly #cluster: DevCluster;

  private constructor(cluster: DevCluster, baseDir: string) {
    this.#cluster = cluster;
    this.baseDir = baseDir;
  }

  static async start({ settings = {}, environment = {} }: ServerOptions = {}): Promise<ClusterServer> {
    const cluster = await DevCluster.start({ gateways: 1, settings: settingsByRole(settings), environment });
    return new ClusterServer(cluster, temporaryDirectory());
  }

  get ingressUrl(): string {
    return this.#cluster.ingressUrls[0] as string;
  }

  get adminUrl(): string {
    return this.#cluster.adminUrl;
  }

  get databases(): never {
    throw new Error("the databases of a cluster are not folders of ours");
  }

  get isRunning(): boolean {
    return this.#programs.every(({ isRunning }) => isRunning);
  }

  get lines(): readonly string[] {
    return this.#programs.flatMap(({ lines }) => lines);
  }

  /** Programs with listeners first, then those that they call. */
  get #programs(): readonly ServiceProgram[] {
    const { gateways, admin, workers, registry } = this.#cluster;
    return [...gateways, admin, ...workers, registry];
  }

  /** Sends SIGKILL to all processes of the cluster at once; database and Redis keep running. */
  async kill(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()));
  }

  /** Stops the processes in the recommended order; resolves with the first exit that was not clean, else with the last one. */
  async stop(): Promise<ProgramExit> {
    let worst: ProgramExit = { code: 0, signal: null };
    for (const program of this.#programs) {
      const exit = await program.stop();
      if (worst.code === 0) worst = exit;
    }
    return worst;
  }

  async startAgain(changed: RoleSettings = {}): Promise<void> {
    const { gateways, admin, workers, registry } = this.#cluster;
    const byRole = settingsByRole(changed);
    const launch = (role: LocalRole, programs: readonly ServiceProgram[]) =>
      Promise.all(programs.map((program) => program.startAgain(byRole[role])));
    await Promise.all([
      launch("registry", [registry]),
      launch("invoker-worker", workers),
      launch("ingress-gateway", gateways),
      launch("admin-api", [admin]),
    ]);
    await Promise.all(this.#programs.map((program) => program.ready()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cluster[Symbol.asyncDispose]();
    rmSync(this.baseDir, { recursive: true, force: true });
  }
}
