/**
 * A complete cluster on this machine, for tests, for benches and for `make cluster`, each part a process:
 *
 * PostgreSQL, Redis, Kafka ▸ registry, workers, gateways, management API
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  freePorts,
  type KafkaServer,
  type PostgresServer,
  type RedisServer,
  startKafka,
  startPostgresPatiently,
  startRedis,
} from "@perdure/servers";
import {
  adminSettings,
  gatewaySettings,
  HOST,
  type LocalCluster,
  type LocalRole,
  type RoleSettings,
  registrySettings,
  workerSettings,
} from "./cluster-settings.js";
import { BALANCED_MS_MAX, METRICS_MS_MAX, POLL_MS } from "./limits.js";
import type { ServiceProgram } from "./service-program.js";
import { Starter, type Supervision } from "./supervision.js";

/** Name of Kafka in subscriptions: `kafka://local/<topic>`. */
export const KAFKA_CLUSTER = "local";

/** Chosen ports of a cluster; where one is absent, any free port is used. */
export interface ClusterPorts {
  readonly postgres?: number;
  readonly redis?: number;
  /** Kafka is started only with a port. */
  readonly kafka?: number;
  readonly registry?: number;
  readonly registryProbes?: number;
  readonly admin?: number;
  /** Ports of the workers, in the order of the workers. */
  readonly workers?: readonly { readonly grpc: number; readonly probes: number }[];
  readonly gateways?: readonly { readonly ingress: number; readonly probes: number }[];
}

export interface DevClusterOptions {
  /** Number of workers and of gateways; two when absent. */
  readonly workers?: number;
  readonly gateways?: number;
  readonly ports?: ClusterPorts;
  /** Additional settings of every worker. */
  readonly workerSettings?: RoleSettings;
  /** The same for all processes of a role. */
  readonly settings?: Readonly<Partial<Record<LocalRole, RoleSettings>>>;
  /** Additional environment variables of every process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Folder with the bundle of another build for a role; the one of this tree when absent. */
  readonly bundles?: Readonly<Partial<Record<LocalRole, string>>>;
  /** Directories of data that outlive the cluster; temporary ones when absent. */
  readonly directories?: { readonly postgres: string; readonly redis: string; readonly kafka?: string };
  /** Supervision of a cluster that is run for a user; without it the cluster ends with its last reference. */
  readonly supervision?: Supervision;
}

interface ClusterServers {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  /** Takes longest to start, and the roles do not wait for it. */
  readonly kafka: Promise<KafkaServer> | undefined;
}

interface ClusterParts extends ClusterServers {
  readonly registry: ServiceProgram;
  readonly admin: ServiceProgram;
  readonly workers: ServiceProgram[];
  readonly gateways: readonly ServiceProgram[];
}

export class DevCluster implements AsyncDisposable {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly registry: ServiceProgram;
  readonly admin: ServiceProgram;
  readonly workers: ServiceProgram[];
  readonly gateways: readonly ServiceProgram[];
  /** The host is an address, so that clients need no look-up. */
  readonly ingressUrls: string[] = [];
  readonly adminUrl: string;
  readonly #roles: Roles;
  readonly #starter: Starter;

  private constructor({ postgres, redis, registry, admin, workers, gateways }: ClusterParts, roles: Roles, starter: Starter) {
    this.postgres = postgres;
    this.redis = redis;
    this.registry = registry;
    this.admin = admin;
    this.workers = workers;
    this.gateways = gateways;
    this.adminUrl = `http://${HOST}:${roles.adminPort}`;
    this.#roles = roles;
    this.#starter = starter;
  }

  /** Resolves when all processes serve. */
  static async start(options: DevClusterOptions = {}): Promise<DevCluster> {
    const starter = new Starter(options.supervision);
    try {
      return await DevCluster.#assemble(starter, options);
    } catch (cause) {
      await starter[Symbol.asyncDispose]();
      throw cause;
    }
  }

  static async #assemble(starter: Starter, options: DevClusterOptions): Promise<DevCluster> {
    const servers = await startServers(starter, options);
    const roles = await Roles.of(servers, starter, options);
    const parts = await startRoles(roles, options);
    const { registry, admin, workers, gateways } = parts;
    await starter.ready([registry, ...workers, ...gateways, admin]);
    if (servers.kafka !== undefined) {
      await starter.show("starting Kafka", `Kafka on port ${options.ports?.kafka}`, servers.kafka);
    }
    const cluster = new DevCluster({ ...servers, ...parts }, roles, starter);
    for (const gateway of gateways) cluster.ingressUrls.push(addressOf((await gateway.ready())["ingress"] as string));
    return cluster;
  }

  /** Resolves when the worker answers; it gets partitions a little later. */
  async addWorker(): Promise<ServiceProgram> {
    const worker = await this.#roles.worker(this.workers.length);
    this.workers.push(worker);
    await worker.ready();
    return worker;
  }

  /** Kills what runs of the cluster. A supervised cluster is stopped by its group instead. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#starter[Symbol.asyncDispose]();
  }
}

// ── its parts ────────────────────────────────────────────────────────────────────────────────────

async function startServers(starter: Starter, { ports = {}, directories }: DevClusterOptions): Promise<ClusterServers> {
  const at = (directory: string | undefined, port: number | undefined) => ({
    ...(directory === undefined ? {} : { directory }),
    ...(port === undefined ? {} : { port }),
  });
  const keep = async <T extends PostgresServer | RedisServer | KafkaServer>(name: string, server: Promise<T>): Promise<T> =>
    starter.keep(name, "server", await server);
  const postgres = keep("PostgreSQL", startPostgresPatiently(at(directories?.postgres, ports.postgres)));
  const redis = keep("Redis", startRedis(at(directories?.redis, ports.redis)));
  const kafka = ports.kafka === undefined ? undefined : keep("Kafka", startKafka(at(directories?.kafka, ports.kafka)));
  for (const work of [postgres, redis, kafka]) work?.catch(() => undefined); // A failure is reported where this is awaited.
  await starter.show("starting PostgreSQL", `PostgreSQL on port ${ports.postgres}`, postgres);
  await starter.show("starting Redis", `Redis on port ${ports.redis}`, redis);
  return { postgres: await postgres, redis: await redis, kafka };
}

type StartedRoles = Omit<ClusterParts, keyof ClusterServers>;

const indexes = (count = 2): readonly number[] => Array.from({ length: count }, (_, index) => index);

/** Starts all roles at once, because each waits for those that it needs. For a user, gateways come when the workers share partitions. */
async function startRoles(roles: Roles, options: DevClusterOptions): Promise<StartedRoles> {
  const registry = await roles.registry();
  const workers: ServiceProgram[] = [];
  for (const index of indexes(options.workers)) workers.push(await roles.worker(index));
  // Attempts are interrupted and run again while partitions move from the first worker to the second.
  if (options.supervision !== undefined) await untilBalanced(workers);
  const gateways: ServiceProgram[] = [];
  for (const index of indexes(options.gateways)) gateways.push(await roles.gateway(index));
  return { registry, workers, gateways, admin: await roles.admin() };
}

/** Launches the roles of one cluster with their settings. */
class Roles {
  readonly adminPort: number;
  readonly #cluster: LocalCluster;
  readonly #ingressPort: number;
  readonly #starter: Starter;
  readonly #options: DevClusterOptions;

  private constructor(
    cluster: LocalCluster,
    adminPort: number,
    ingressPort: number,
    starter: Starter,
    options: DevClusterOptions,
  ) {
    this.#cluster = cluster;
    this.adminPort = adminPort;
    this.#ingressPort = ingressPort;
    this.#starter = starter;
    this.#options = options;
  }

  static async of({ postgres, redis }: ClusterServers, starter: Starter, options: DevClusterOptions): Promise<Roles> {
    const { ports = {} } = options;
    const [registry, worker, admin, ingress] = (await freePorts(4)) as [number, number, number, number];
    const cluster: LocalCluster = {
      postgresUrl: postgres.url,
      redisUrl: redis.url,
      registryPort: ports.registry ?? registry,
      workerPorts: ports.workers?.map(({ grpc }) => grpc) ?? [worker],
    };
    return new Roles(cluster, ports.admin ?? admin, ports.gateways?.[0]?.ingress ?? ingress, starter, options);
  }

  registry(): Promise<ServiceProgram> {
    const { kafka, registryProbes = 0 } = this.#options.ports ?? {};
    const clusters = [{ name: KAFKA_CLUSTER, brokers: [`${HOST}:${kafka}`] }];
    return this.#launch("registry", "registry", {
      ...registrySettings(this.#cluster, { probes: registryProbes }),
      ...(kafka === undefined ? {} : { "ingress.kafka-clusters": JSON.stringify(clusters) }),
    });
  }

  admin(): Promise<ServiceProgram> {
    return this.#launch(
      "admin-api",
      "admin-api",
      adminSettings(this.#cluster, { admin: this.adminPort, ingress: this.#ingressPort }),
    );
  }

  worker(index: number): Promise<ServiceProgram> {
    const name = `worker${index + 1}`;
    const { grpc, probes } = this.#options.ports?.workers?.[index] ?? { grpc: this.#cluster.workerPorts[index] ?? 0, probes: 0 };
    const settings = { ...workerSettings(this.#cluster, name, { grpc, probes }), ...this.#options.workerSettings };
    return this.#launch(name, "invoker-worker", settings);
  }

  gateway(index: number): Promise<ServiceProgram> {
    const first = index === 0 ? this.#ingressPort : 0;
    const ports = this.#options.ports?.gateways?.[index] ?? { ingress: first, probes: 0 };
    return this.#launch(`gateway${index + 1}`, "ingress-gateway", gatewaySettings(this.#cluster, ports));
  }

  #launch(name: string, service: LocalRole, settings: RoleSettings): Promise<ServiceProgram> {
    const { environment = {}, bundles, settings: ofRoles } = this.#options;
    const stage = service === "ingress-gateway" || service === "admin-api" ? "listener" : "work";
    return this.#starter.launch(name, stage, {
      service,
      settings: { ...settings, ...ofRoles?.[service] },
      environment,
      bundle: bundles?.[service],
    });
  }
}

/** Until each worker leads as many partitions as the others, or a while has passed: a slow machine only interrupts more attempts. */
async function untilBalanced(workers: readonly ServiceProgram[]): Promise<void> {
  const end = performance.now() + BALANCED_MS_MAX;
  let partitionCount = 0; // The most that had a leader at once: fewer have one while some move.
  do {
    const counts = await Promise.all(workers.map(async (worker) => (await leaderPartitionCount(worker)) ?? 0));
    const sum = counts.reduce((total, count) => total + count, 0);
    partitionCount = Math.max(partitionCount, sum);
    const fewest = Math.min(...counts);
    if (fewest > 0 && Math.max(...counts) - fewest <= 1 && sum === partitionCount) return;
    await delay(POLL_MS);
  } while (performance.now() < end);
}

/** Undefined while the worker does not answer. */
async function leaderPartitionCount(worker: ServiceProgram): Promise<number | undefined> {
  const { probes } = await worker.ready();
  try {
    const signal = AbortSignal.timeout(METRICS_MS_MAX);
    const text = await (await fetch((probes as string).replace(/readyz$/, "metrics"), { signal })).text();
    return Number(/^perdure_worker_partitions\{role="owner"\} (\d+)/m.exec(text)?.[1] ?? 0);
  } catch {
    return undefined;
  }
}

/** `http://localhost:8080/` becomes `http://127.0.0.1:8080`. */
function addressOf(url: string): string {
  return url.replace("localhost", HOST).replace(/\/$/, "");
}
