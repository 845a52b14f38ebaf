/** Why: a cluster as it runs anywhere, with everything real, on this machine: database, Redis, and each role as processes of its own. */
import { freePorts, type PostgresServer, type RedisServer, startPostgres, startRedis } from "@perdure/servers";
import { Program } from "./program.js";
import type { Settings } from "./server.js";

export interface WholeClusterOptions {
  readonly workers?: number;
  readonly gateways?: number;
  /** Ports of the first gateway's ingress and of the management API; free ones when absent. */
  readonly ingressPort?: number;
  readonly adminPort?: number;
  /** Settings for every worker beyond ours. */
  readonly workerSettings?: Settings;
  /** Directories that outlive the cluster; temporary ones when absent. */
  readonly directories?: { readonly postgres: string; readonly redis: string };
  /** Told what is being started. */
  readonly onStep?: (what: string) => void;
}

export class WholeCluster implements AsyncDisposable {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly registry: Program;
  readonly workers: Program[] = [];
  readonly gateways: Program[] = [];
  readonly ingressUrls: string[] = [];
  readonly adminUrl: string;
  readonly #admin: Program;
  readonly #common: { readonly registry: string; readonly worker: string; readonly redisUrl: string };
  readonly #options: WholeClusterOptions;
  readonly #things: AsyncDisposable[];

  private constructor(parts: Parts, options: WholeClusterOptions) {
    this.postgres = parts.postgres;
    this.redis = parts.redis;
    this.registry = parts.registry;
    this.#admin = parts.admin;
    this.adminUrl = parts.adminUrl;
    this.#common = parts.common;
    this.#options = options;
    this.#things = parts.things;
  }

  /** Resolves when all of it serves. */
  static async start(options: WholeClusterOptions = {}): Promise<WholeCluster> {
    const things: AsyncDisposable[] = [];
    try {
      return await assemble(options, things);
    } catch (cause) {
      for (const thing of things.toReversed()) await thing[Symbol.asyncDispose]();
      throw cause;
    }

    async function assemble(options: WholeClusterOptions, things: AsyncDisposable[]): Promise<WholeCluster> {
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
      const [registryPort, firstWorkerPort, adminPort = 0, ingressPort = 0] = await freePorts(4);
      const common = { registry: `127.0.0.1:${registryPort}`, worker: `127.0.0.1:${firstWorkerPort}`, redisUrl: redis.url };
      const ingress = options.ingressPort ?? ingressPort;
      onStep("the registry and the first worker");
      const registry = use(
        await Program.launch({
          service: "registry",
          settings: {
            ...LOCAL,
            "grpc.bind-address": "127.0.0.1",
            "grpc.bind-port": registryPort as number,
            "metadata.postgres-url": postgres.url,
            "redis.url": redis.url,
            "worker.addresses": common.worker,
          },
        }),
      );
      const admin = use(
        await Program.launch({
          service: "admin-api",
          settings: {
            "shutdown-timeout": "5s",
            "admin.bind-address": "127.0.0.1",
            "admin.bind-port": options.adminPort ?? adminPort,
            "ingress.advertised-address": `http://localhost:${ingress}/`,
            "metadata.postgres-url": postgres.url,
            "redis.url": redis.url,
            "registry.addresses": common.registry,
            "worker.addresses": common.worker,
          },
        }),
      );
      const adminUrl = `http://localhost:${options.adminPort ?? adminPort}`;
      const cluster = new WholeCluster({ postgres, redis, registry, admin, adminUrl, common, things }, options);
      for (let n = 0; n < (options.workers ?? 2); n++) await cluster.addWorker(n === 0 ? (firstWorkerPort as number) : 0);
      await registry.ready();
      onStep("gateways and the management API");
      for (let n = 0; n < (options.gateways ?? 2); n++) await cluster.#addGateway(n === 0 ? ingress : 0);
      await admin.ready();
      return cluster;
    }
  }

  /** Resolves when it answers; partitions come to it a little later. */
  async addWorker(port = 0): Promise<Program> {
    const { registry, redisUrl } = this.#common;
    const settings = {
      ...LOCAL,
      "grpc.bind-address": "127.0.0.1",
      "grpc.bind-port": port,
      "redis.url": redisUrl,
      "registry.addresses": registry,
      "node-name": `worker${this.workers.length + 1}`,
      ...(port === 0 ? {} : { "advertised-address": `127.0.0.1:${port}` }),
      ...this.#options.workerSettings,
    };
    const worker = await Program.launch({ service: "invoker-worker", settings });
    this.#things.push(worker);
    this.workers.push(worker);
    await worker.ready();
    return worker;
  }

  async #addGateway(port: number): Promise<void> {
    const { registry, worker } = this.#common;
    const settings = {
      ...LOCAL,
      "ingress.bind-address": "127.0.0.1",
      "ingress.bind-port": port,
      "registry.addresses": registry,
      "worker.addresses": worker,
    };
    const gateway = await Program.launch({ service: "ingress-gateway", settings });
    this.#things.push(gateway);
    this.gateways.push(gateway);
    this.ingressUrls.push(((await gateway.ready())["ingress"] as string).replace(/\/$/, ""));
  }

  get admin(): Program {
    return this.#admin;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const thing of this.#things.toReversed()) await thing[Symbol.asyncDispose]();
  }
}

interface Parts {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly registry: Program;
  readonly admin: Program;
  readonly adminUrl: string;
  readonly common: { readonly registry: string; readonly worker: string; readonly redisUrl: string };
  readonly things: AsyncDisposable[];
}

const LOCAL: Settings = { "probes.bind-address": "127.0.0.1", "probes.bind-port": 0, "shutdown-timeout": "5s" };
