/**
 * A whole cluster on one machine, each part a process with its own log:
 *
 * PostgreSQL, Redis, Kafka ▸ registry, two workers, two gateways, management API
 *
 * All data is below one directory and is used again by the next run. A program that ends by itself is started again.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  adminSettings,
  environmentOf,
  gatewaySettings,
  type LocalCluster,
  type LocalRole,
  type RoleSettings,
  registrySettings,
  workerSettings,
} from "@perdure/cluster-kit/local";
import { ProcessGroup, type Record, RoleProcess } from "@perdure/processes";
import {
  type KafkaServer,
  type PostgresServer,
  type RedisServer,
  startKafka,
  startPostgresPatiently,
  startRedis,
} from "@perdure/servers";
import { BALANCED_MS_MAX, METRICS_MS_MAX, POLL_MS } from "./limits.js";
import { adviceFor, type ClusterPortName, type LocalClusterSettings, ROOT } from "./settings.js";

/** Undefined while the worker does not answer. */
async function leaderPartitionCountAt(probesPort: number): Promise<number | undefined> {
  try {
    const signal = AbortSignal.timeout(METRICS_MS_MAX);
    const text = await (await fetch(`http://127.0.0.1:${probesPort}/metrics`, { signal })).text();
    return Number(/^perdure_worker_partitions\{role="owner"\} (\d+)/m.exec(text)?.[1] ?? 0);
  } catch {
    return undefined;
  }
}

/** Name of Kafka in subscriptions: `kafka://local/<topic>`. */
export const KAFKA_CLUSTER = "local";

/** Shows that something is being waited for, then what came of it. */
export type Show = (what: string, done: string, work: Promise<unknown>) => Promise<void>;

const PUBLIC_ROLES: ReadonlySet<LocalRole> = new Set(["ingress-gateway", "admin-api"]);

export class RunningCluster {
  readonly workers: RoleProcess[] = [];
  readonly #settings: LocalClusterSettings;
  readonly #record: Record;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #group: ProcessGroup;

  /** `environment`: of the processes; our own variables in it are left out. */
  constructor(settings: LocalClusterSettings, record: Record, environment: NodeJS.ProcessEnv) {
    this.#settings = settings;
    this.#record = record;
    this.#group = new ProcessGroup(record);
    this.#environment = Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("PERDURE_")));
    for (const folder of ["postgres", "redis", "kafka", "logs"]) mkdirSync(join(settings.directory, folder), { recursive: true });
  }

  /** Rejects with the name of the program when its port is in use. */
  async checkPorts(names: readonly ClusterPortName[]): Promise<void> {
    const { ports } = this.#settings;
    await ProcessGroup.checkPorts(names.map((name) => [name, ports[name], `${adviceFor(name, ports)} make cluster`] as const));
  }

  /** Resolves when all of it serves. */
  async start(show: Show, { withKafka }: { readonly withKafka: boolean }): Promise<void> {
    const { ports } = this.#settings;
    const postgres = this.#startPostgres();
    const redis = this.#startRedis();
    const kafka = withKafka ? this.#startKafka() : undefined;
    for (const work of [postgres, redis, kafka]) work?.catch(() => undefined); // A failure is reported where this is awaited.
    await show("starting PostgreSQL", `PostgreSQL on port ${ports.postgres}`, postgres);
    await show("starting Redis", `Redis on port ${ports.redis}`, redis);
    const addresses = { postgresUrl: (await postgres).url, redisUrl: (await redis).url };
    const roles = await this.#startRoles({
      ...addresses,
      registryPort: ports.registry,
      workerPorts: [ports.worker1, ports.worker2],
    });
    for (const role of roles) {
      const ready = role.ready();
      ready.catch(() => undefined); // A failure is reported where this is awaited.
      await show(`starting ${role.name}`, `${role.name} is ready (process ${role.pid})`, ready);
    }
    if (kafka !== undefined) await show("starting Kafka", `Kafka on port ${ports.kafka}`, kafka);
  }

  async #startPostgres(): Promise<PostgresServer> {
    const options = { directory: join(this.#settings.directory, "postgres"), port: this.#settings.ports.postgres };
    const postgres = await startPostgresPatiently(options);
    this.#group.keep("server", { name: "PostgreSQL", process: postgres, startAgain: () => postgres.start() });
    return postgres;
  }

  async #startRedis(): Promise<RedisServer> {
    const redis = await startRedis({ directory: join(this.#settings.directory, "redis"), port: this.#settings.ports.redis });
    this.#group.keep("server", { name: "Redis", process: redis, startAgain: () => redis.start() });
    return redis;
  }

  async #startKafka(): Promise<KafkaServer> {
    const kafka = await startKafka({ directory: join(this.#settings.directory, "kafka"), port: this.#settings.ports.kafka });
    this.#group.keep("server", { name: "Kafka", process: kafka, startAgain: () => kafka.start() });
    return kafka;
  }

  /**
   * Registry and workers start at once: each waits for its dependencies. The gateways follow, because attempts are interrupted and run
   * again while partitions move from the first worker to the second.
   */
  async #startRoles(cluster: LocalCluster): Promise<RoleProcess[]> {
    const { ports } = this.#settings;
    const kafkaClusters = JSON.stringify([{ name: KAFKA_CLUSTER, brokers: [`127.0.0.1:${ports.kafka}`] }]);
    const registry = { ...registrySettings(cluster, { probes: ports.registryProbes }), "ingress.kafka-clusters": kafkaClusters };
    const worker = (n: 1 | 2): RoleSettings =>
      workerSettings(cluster, `worker${n}`, { grpc: ports[`worker${n}`], probes: ports[`worker${n}Probes`] });
    const gateway = (ingress: number, probes: number): RoleSettings => gatewaySettings(cluster, { ingress, probes });
    const ready = (port: number): string => `http://127.0.0.1:${port}/readyz`;

    const started = [await this.#startRole("registry", "registry", registry, ready(ports.registryProbes))];
    for (const n of [1, 2] as const) {
      const process = await this.#startRole(`worker${n}`, "invoker-worker", worker(n), ready(ports[`worker${n}Probes`]));
      this.workers.push(process);
      started.push(process);
    }
    await this.#untilBalanced();
    started.push(
      await this.#startRole(
        "gateway1",
        "ingress-gateway",
        gateway(ports.ingress, ports.gateway1Probes),
        ready(ports.gateway1Probes),
      ),
      await this.#startRole(
        "gateway2",
        "ingress-gateway",
        gateway(ports.secondIngress, ports.gateway2Probes),
        ready(ports.gateway2Probes),
      ),
      await this.#startRole(
        "admin-api",
        "admin-api",
        adminSettings(cluster, { admin: ports.admin, ingress: ports.ingress }),
        ready(ports.admin),
      ),
    );
    return started;
  }

  /** Until each worker leads as many partitions as the other, or a while has passed: a slow machine only breaks off more attempts. */
  async #untilBalanced(): Promise<void> {
    const { ports } = this.#settings;
    const end = performance.now() + BALANCED_MS_MAX;
    do {
      const [one, other] = await Promise.all([
        leaderPartitionCountAt(ports.worker1Probes),
        leaderPartitionCountAt(ports.worker2Probes),
      ]);
      if (one !== undefined && one > 0 && one === other) return;
      await delay(POLL_MS);
    } while (performance.now() < end);
  }

  async #startRole(name: string, role: LocalRole, settings: RoleSettings, readyUrl: string): Promise<RoleProcess> {
    const started = await RoleProcess.start({
      name,
      command: process.execPath,
      args: [join(ROOT, "services", role, "dist/main.mjs")],
      env: {
        ...this.#environment,
        ...environmentOf({ "log-format": "json", ...settings, ...this.#settings.roles[role] }),
      },
      logFile: join(this.#settings.directory, "logs", `${name}.log`),
      readyUrl,
    });
    this.#group.keep(PUBLIC_ROLES.has(role) ? "door" : "work", {
      name,
      process: started,
      startAgain: () => started.startAgain(),
    });
    return started;
  }

  /** Starts the killed worker again, with its settings. */
  async startAgain(worker: RoleProcess): Promise<void> {
    await worker.startAgain();
    this.#record.add(worker.name, worker.pid);
    await worker.ready();
  }

  /** Restarts programs that end, until the signal fires. Rejects when that happens too often. */
  watch(signal: AbortSignal, report: (what: string) => void): Promise<void> {
    return this.#group.watch(signal, report);
  }

  stop(): Promise<void> {
    return this.#group.stop();
  }
}
