/** A complete cluster on this machine: database, Redis, and each role as processes. */
import {
  adminSettings,
  gatewaySettings,
  type LocalCluster,
  type LocalRole,
  type RoleSettings,
  registrySettings,
  workerSettings,
} from "@perdure/cluster-kit/local";
import { freePorts, type PostgresServer, type RedisServer, startPostgres, startRedis } from "@perdure/servers";
import { ServiceProgram } from "./program.js";

export interface WholeClusterOptions {
  readonly workers?: number;
  readonly gateways?: number;
  /** Ports of the first gateway's ingress and of the management API; free ones when absent. */
  readonly ingressPort?: number;
  readonly adminPort?: number;
  /** Additional settings of every worker. */
  readonly workerSettings?: RoleSettings;
  /** The same for all processes of a role. */
  readonly settings?: Readonly<Partial<Record<LocalRole, RoleSettings>>>;
  /** Additional environment variables of every process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Folder with the bundle of another build for a role; the one of this tree when absent. */
  readonly bundles?: Readonly<Partial<Record<LocalRole, string>>>;
  /** Directories that outlive the cluster; temporary ones when absent. */
  readonly directories?: { readonly postgres: string; readonly redis: string };
  /** Called with each step of the start. */
  readonly onStep?: (what: string) => void;
}

type LaunchProgram = (service: LocalRole, settings: RoleSettings) => Promise<ServiceProgram>;

export class WholeCluster implements AsyncDisposable {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly registry: ServiceProgram;
  readonly admin: ServiceProgram;
  readonly workers: ServiceProgram[] = [];
  readonly gateways: ServiceProgram[] = [];
  /** The host is an address, so that clients need no look-up. */
  readonly ingressUrls: string[] = [];
  readonly adminUrl: string;
  readonly #addresses: LocalCluster;
  readonly #launch: LaunchProgram;
  readonly #things: readonly AsyncDisposable[];

  private constructor(parts: ClusterParts) {
    this.postgres = parts.postgres;
    this.redis = parts.redis;
    this.registry = parts.registry;
    this.admin = parts.admin;
    this.adminUrl = parts.adminUrl;
    this.#addresses = parts.addresses;
    this.#launch = parts.launch;
    this.#things = parts.things;
  }

  /** Resolves when all processes serve. */
  static async start(options: WholeClusterOptions = {}): Promise<WholeCluster> {
    const things: AsyncDisposable[] = [];
    try {
      return await WholeCluster.#assemble(options, things);
    } catch (cause) {
      for (const thing of things.toReversed()) await thing[Symbol.asyncDispose]();
      throw cause;
    }
  }

  static async #assemble(options: WholeClusterOptions, things: AsyncDisposable[]): Promise<WholeCluster> {
    const { directories, onStep = () => undefined } = options;
    const use = <T extends AsyncDisposable>(thing: T): T => {
      things.push(thing);
      return thing;
    };
    onStep("PostgreSQL and Redis");
    const [postgres, redis] = await Promise.all([
      startPostgres(directories === undefined ? {} : { directory: directories.postgres }).then(use),
      startRedis(directories === undefined ? {} : { directory: directories.redis }).then(use),
    ]);
    const [registryPort, workerPort, freeAdmin, freeIngress] = (await freePorts(4)) as [number, number, number, number];
    const addresses = { postgresUrl: postgres.url, redisUrl: redis.url, registryPort, workerPorts: [workerPort] };
    const adminPort = options.adminPort ?? freeAdmin;
    const ingressPort = options.ingressPort ?? freeIngress;
    const launch: LaunchProgram = async (service, settings) => {
      const ofWorkers = service === "invoker-worker" ? options.workerSettings : {};
      const all = { ...settings, ...ofWorkers, ...options.settings?.[service] };
      const bundle = options.bundles?.[service];
      return use(await ServiceProgram.launch({ service, settings: all, environment: options.environment ?? {}, bundle }));
    };
    onStep("the roles");
    const cluster = new WholeCluster({
      postgres,
      redis,
      registry: await launch("registry", registrySettings(addresses, { probes: 0 })),
      admin: await launch("admin-api", adminSettings(addresses, { admin: adminPort, ingress: ingressPort })),
      adminUrl: `http://127.0.0.1:${adminPort}`,
      addresses,
      launch,
      things,
    });
    for (let n = 0; n < (options.workers ?? 2); n++) await cluster.#launchWorker(n === 0 ? workerPort : 0);
    for (let n = 0; n < (options.gateways ?? 2); n++) await cluster.#launchGateway(n === 0 ? ingressPort : 0);
    // All processes are started at once; each waits for those that it needs.
    const { registry, admin, workers, gateways, ingressUrls } = cluster;
    await Promise.all([registry, admin, ...workers].map((program) => program.ready()));
    for (const gateway of gateways) ingressUrls.push(addressOf((await gateway.ready())["ingress"] as string));
    return cluster;
  }

  /** Resolves when the worker answers; it gets partitions a little later. */
  async addWorker(): Promise<ServiceProgram> {
    const worker = await this.#launchWorker(0);
    await worker.ready();
    return worker;
  }

  async #launchWorker(grpc: number): Promise<ServiceProgram> {
    const name = `worker${this.workers.length + 1}`;
    const worker = await this.#launch("invoker-worker", workerSettings(this.#addresses, name, { grpc, probes: 0 }));
    this.workers.push(worker);
    return worker;
  }

  async #launchGateway(ingress: number): Promise<void> {
    this.gateways.push(await this.#launch("ingress-gateway", gatewaySettings(this.#addresses, { ingress, probes: 0 })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const thing of this.#things.toReversed()) await thing[Symbol.asyncDispose]();
  }
}

interface ClusterParts {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly registry: ServiceProgram;
  readonly admin: ServiceProgram;
  readonly adminUrl: string;
  readonly addresses: LocalCluster;
  readonly launch: LaunchProgram;
  readonly things: readonly AsyncDisposable[];
}

/** `http://localhost:8080/` becomes `http://127.0.0.1:8080`. */
function addressOf(url: string): string {
  return url.replace("localhost", "127.0.0.1").replace(/\/$/, "");
}
