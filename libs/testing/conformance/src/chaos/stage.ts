/**
 * A cluster with a proxy on every connection that can be cut, handlers that record their work, and callers that retry. Faults are applied
 * from outside.
 */

import { setTimeout as delay } from "node:timers/promises";
import {
  adminSettings,
  gatewaySettings,
  type LocalCluster,
  registrySettings,
  ServiceProgram,
  workerSettings,
} from "@perdure/dev-cluster";
import { freePorts, type PostgresServer, type RedisServer, startPostgres, startRedis } from "@perdure/servers";
import { SeededRandom } from "@perdure/testkit";
import { TestAdminClient } from "../admin-client.js";
import { eventually } from "../eventually.js";
import { SdkEndpoint } from "../sdk-endpoint.js";
import { FaultyProxy } from "./faulty-proxy.js";
import { CALLERS_DEFAULT, GATEWAYS, POLL_MS, PROGRESS_MS_MAX, WORKERS } from "./limits.js";
import { ChaosLoad } from "./load.js";
import { HandlerRecord } from "./record.js";
import { chaosServices } from "./services.js";

/** A worker and the proxies on its two connections. */
export interface StagedWorker {
  readonly name: string;
  readonly program: ServiceProgram;
  readonly toRedis: FaultyProxy;
  readonly grpcProxy: FaultyProxy;
}

export interface StageOptions {
  readonly seed: number;
  readonly callers?: number;
}

/** The default of the worker's setting. */
const PARTITIONS = 24;
const ENVIRONMENT = "env_local";

export class ChaosStage implements AsyncDisposable {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  readonly registry: ServiceProgram;
  readonly workers: readonly StagedWorker[];
  readonly gateways: readonly ServiceProgram[];
  readonly admin: TestAdminClient;
  readonly record: HandlerRecord;
  readonly load: ChaosLoad;
  readonly random: SeededRandom;
  readonly partitions: readonly number[] = Array.from({ length: PARTITIONS }, (_, partition) => partition);
  readonly #things: readonly AsyncDisposable[];

  private constructor(parts: ChaosParts) {
    this.redis = parts.redis;
    this.postgres = parts.postgres;
    this.registry = parts.registry;
    this.workers = parts.workers;
    this.gateways = parts.gateways;
    this.admin = parts.admin;
    this.record = parts.record;
    this.load = parts.load;
    this.random = parts.random;
    this.#things = parts.things;
  }

  /** Resolves when every worker leads its share; callers have not started yet. */
  static async start(options: StageOptions): Promise<ChaosStage> {
    const things: AsyncDisposable[] = [];
    const use = <T extends AsyncDisposable>(thing: T): T => {
      things.push(thing);
      return thing;
    };
    try {
      return await ChaosStage.#assemble(options, things, use);
    } catch (cause) {
      for (const thing of things.toReversed()) await thing[Symbol.asyncDispose]();
      throw cause;
    }
  }

  static async #assemble(
    options: StageOptions,
    things: AsyncDisposable[],
    use: <T extends AsyncDisposable>(thing: T) => T,
  ): Promise<ChaosStage> {
    const [postgres, redis] = await Promise.all([startPostgres().then(use), startRedis().then(use)]);
    const ports = await freePorts(2 + WORKERS + GATEWAYS);
    const [registryPort, adminPort] = ports as [number, number];
    const workerPorts = ports.slice(2, 2 + WORKERS);
    const grpcProxies = await Promise.all(workerPorts.map(async (port) => use(await FaultyProxy.before(port))));
    const ways = await Promise.all(workerPorts.map(async () => use(await FaultyProxy.before(redis.port))));
    const ingressPorts = ports.slice(2 + WORKERS);
    const addresses: LocalCluster = {
      postgresUrl: postgres.url,
      redisUrl: redis.url,
      registryPort,
      workerPorts: grpcProxies.map(({ port }) => port),
    };
    const registry = use(
      await ServiceProgram.launch({ service: "registry", settings: registrySettings(addresses, { probes: 0 }) }),
    );
    const adminProgram = use(
      await ServiceProgram.launch({
        service: "admin-api",
        settings: adminSettings(addresses, { admin: adminPort, ingress: ingressPorts[0] as number }),
      }),
    );
    const workers: StagedWorker[] = [];
    for (const [index, port] of workerPorts.entries()) {
      const name = `worker${index + 1}`;
      const toRedis = ways[index] as FaultyProxy;
      const grpcProxy = grpcProxies[index] as FaultyProxy;
      const settings = {
        ...workerSettings({ ...addresses, redisUrl: `redis://127.0.0.1:${toRedis.port}` }, name, { grpc: port, probes: 0 }),
        "advertised-address": `127.0.0.1:${grpcProxy.port}`,
      };
      workers.push({
        name,
        program: use(await ServiceProgram.launch({ service: "invoker-worker", settings })),
        toRedis,
        grpcProxy,
      });
    }
    const gateways: ServiceProgram[] = [];
    for (const ingress of ingressPorts) {
      const settings = gatewaySettings(addresses, { ingress, probes: 0 });
      gateways.push(use(await ServiceProgram.launch({ service: "ingress-gateway", settings })));
    }
    await Promise.all(
      [registry, adminProgram, ...gateways, ...workers.map(({ program }) => program)].map((each) => each.ready()),
    );

    const record = new HandlerRecord();
    const endpoint = use(await SdkEndpoint.start({ services: chaosServices(record), kind: "h2-bidi" }));
    const admin = new TestAdminClient(`http://127.0.0.1:${adminPort}`);
    await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), PROGRESS_MS_MAX);
    const random = new SeededRandom(options.seed);
    const load = new ChaosLoad({
      gateways: ingressPorts.map((port) => `http://127.0.0.1:${port}`),
      record,
      random: random.fork(),
      callers: options.callers ?? CALLERS_DEFAULT,
    });
    const stage = new ChaosStage({ redis, postgres, registry, workers, gateways, admin, record, load, random, things });
    await stage.untilBalanced();
    return stage;
  }

  /** The worker that holds each partition's lease, by name; undefined where none does. */
  async holders(): Promise<readonly (string | undefined)[]> {
    const keys = this.partitions.map((partition) => `{${ENVIRONMENT}:${partition}}:lease`);
    const holders = (await this.redis.request("MGET", ...keys)) as readonly (string | null)[];
    return holders.map((holder) => holder?.split("-", 1)[0]);
  }

  async partitionsOf(worker: StagedWorker): Promise<readonly number[]> {
    const holders = await this.holders();
    return this.partitions.filter((partition) => holders[partition] === worker.name);
  }

  /** Resolves when others hold the leases. */
  async untilReassigned(from: StagedWorker, partitions: readonly number[]): Promise<void> {
    const deadlineMs = performance.now() + PROGRESS_MS_MAX;
    for (;;) {
      const holders = await this.holders();
      if (partitions.every((partition) => holders[partition] !== undefined && holders[partition] !== from.name)) return;
      if (performance.now() > deadlineMs)
        throw new Error(`no worker takes partitions over from ${from.name}: ${holders.join(" ")}`);
      await delay(POLL_MS);
    }
  }

  /** Resolves when all workers lead the same number of partitions. */
  async untilBalanced(): Promise<void> {
    const share = PARTITIONS / WORKERS;
    const deadlineMs = performance.now() + PROGRESS_MS_MAX;
    for (;;) {
      const holders = await this.holders().catch(() => []); // Redis may be restarting.
      if (this.workers.every(({ name }) => holders.filter((holder) => holder === name).length === share)) return;
      if (performance.now() > deadlineMs) throw new Error(`partitions are not shared evenly: ${holders.join(" ")}`);
      await delay(POLL_MS * 5);
    }
  }

  /** Resolves when SQL shows no invocation that has not ended. */
  async untilQuiet(): Promise<void> {
    const unfinished = "SELECT count(1) AS n FROM sys_invocation_status WHERE status != 'completed'";
    await eventually(
      "no invocation is left unfinished",
      async () => (await this.admin.query(unfinished))[0]?.["n"] === 0,
      PROGRESS_MS_MAX,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.load[Symbol.dispose]();
    this.admin[Symbol.dispose]();
    for (const { program } of this.workers) program.signal("SIGCONT");
    for (const thing of this.#things.toReversed()) await thing[Symbol.asyncDispose]();
  }
}

interface ChaosParts {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  readonly registry: ServiceProgram;
  readonly workers: readonly StagedWorker[];
  readonly gateways: readonly ServiceProgram[];
  readonly admin: TestAdminClient;
  readonly record: HandlerRecord;
  readonly load: ChaosLoad;
  readonly random: SeededRandom;
  readonly things: readonly AsyncDisposable[];
}
