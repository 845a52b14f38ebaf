/** Three Redis with the operator's start script, arguments and probe, each on a loopback address of its own. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Secret, silentLogger, systemClock } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import { ChildProgram, runCommand } from "@perdure/processes";
import { connectRedis, type RedisConnections, type RedisNode } from "@perdure/redis";
import { freePorts, redisProgram } from "@perdure/servers";
import { bundledRedis } from "../src/desired/redis.js";
import { START_REPLICATED } from "../src/desired/redis-start.js";
import { BUNDLED, environmentWith } from "./an-environment.js";
import { cell } from "./cell.js";

export const HOSTS = ["127.0.0.1", "127.0.0.2", "127.0.0.3"] as const;
export const PASSWORD = "secret";
const WRITE_MS = 15_000;
const POLL_MS = 50;

interface Container {
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } };
}

export function replicatedEnvironment(status?: EnvironmentResource["status"], after?: string): EnvironmentResource {
  const failover = after === undefined ? {} : { failover: { after } };
  const environment = environmentWith({ redis: { bundled: { ...BUNDLED, mode: "replicated", ...failover } } });
  return status === undefined ? environment : { ...environment, status };
}

function container(): Container {
  const set = bundledRedis(replicatedEnvironment(), cell, "hash").find(({ kind }) => kind === "StatefulSet") as KubeObject;
  const { template } = set["spec"] as { readonly template: { readonly spec: { readonly containers: readonly [Container] } } };
  return template.spec.containers[0];
}

/** What the script of the container is; the suites start that one. */
export const containerCommand = (): readonly string[] => container().command;

export class ReplicatedPods implements AsyncDisposable {
  readonly port: number;
  readonly #program: Awaited<ReturnType<typeof redisProgram>>;
  readonly #root: string;
  readonly #running = new Map<number, ChildProgram>();

  private constructor(program: Awaited<ReturnType<typeof redisProgram>>, root: string, port: number) {
    this.#program = program;
    this.#root = root;
    this.port = port;
  }

  static async create(): Promise<ReplicatedPods> {
    const root = await mkdtemp(join(tmpdir(), "perdure-replicated-"));
    const [port] = (await freePorts(1)) as [number];
    return new ReplicatedPods(await redisProgram(), root, port);
  }

  get nodes(): readonly RedisNode[] {
    return HOSTS.map((host) => ({ host, port: this.port }));
  }

  get url(): Secret {
    return new Secret(`redis://:${PASSWORD}@redis-primary:${this.port}`);
  }

  /** As its pod would be started, with the volume that it has. `primary`: what the ConfigMap names, undefined before the first promotion. */
  async start(ordinal: number, primary?: string): Promise<void> {
    const folder = this.volume(ordinal);
    await mkdir(folder, { recursive: true });
    const given = container().args.map((arg) => arg.replace("$(REDIS_PASSWORD)", PASSWORD).replace(/^\/data$/, folder));
    const own = ["--bind", HOSTS[ordinal] as string, "--port", String(this.port)];
    // In a group of its own: what it starts ends with it, as in a container.
    const child = await ChildProgram.start({
      command: "sh",
      args: ["-c", START_REPLICATED, "redis", ...given, ...own],
      env: {
        ...this.#program.env,
        PATH: `${dirname(this.#program.path)}${delimiter}${process.env["PATH"] ?? ""}`,
        REDIS_PASSWORD: PASSWORD,
        REDIS_HOSTS: HOSTS.join(" "),
        REDIS_PORT: String(this.port),
        REDIS_DATA: folder,
        POD_NAME: `redis-${ordinal}`,
        ...(primary === undefined ? {} : { REDIS_PRIMARY: primary }),
      },
    });
    this.#running.set(ordinal, child);
  }

  async startAll(): Promise<void> {
    for (const ordinal of [0, 1, 2]) await this.start(ordinal);
  }

  async kill(ordinal: number): Promise<void> {
    const child = this.#running.get(ordinal);
    this.#running.delete(ordinal);
    await child?.kill();
  }

  signal(ordinal: number, signal: NodeJS.Signals): void {
    this.#running.get(ordinal)?.signal(signal);
  }

  volume(ordinal: number): string {
    return join(this.#root, `volume-${ordinal}`);
  }

  async loseVolume(ordinal: number): Promise<void> {
    await rm(this.volume(ordinal), { recursive: true, force: true });
  }

  /** Each write is acknowledged by one replica at least. */
  connect(ordinal: number): Promise<RedisConnections> {
    return connectRedis(
      {
        nodes: [{ host: HOSTS[ordinal] as string, port: this.port }],
        password: new Secret(PASSWORD),
        replicas: 1,
        timeoutMs: WRITE_MS,
      },
      { clock: systemClock, logger: silentLogger },
    );
  }

  async size(ordinal: number): Promise<number> {
    await using redis = await this.connect(ordinal);
    return Number(await redis.reads.one(["DBSIZE"]));
  }

  /** Whether the readiness probe of the pod succeeds. */
  async isReady(ordinal: number): Promise<boolean> {
    const [command = "", ...args] = container().readinessProbe.exec.command;
    const bin = join(this.#root, `bin-${ordinal}`);
    await mkdir(bin, { recursive: true });
    const cli = join(dirname(this.#program.path), "redis-cli");
    const script = `#!/bin/sh\nexec "${cli}" -h ${HOSTS[ordinal]} -p ${this.port} "$@"\n`;
    await writeFile(join(bin, "redis-cli"), script, { mode: 0o755 });
    const env = {
      ...this.#program.env,
      PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
      REDIS_PASSWORD: PASSWORD,
      POD_NAME: `redis-${ordinal}`,
    };
    const { exitCode } = await runCommand(command, args, { env });
    return exitCode === 0;
  }

  async untilReady(ordinal: number, expected = true): Promise<void> {
    while ((await this.isReady(ordinal)) !== expected) await sleep(POLL_MS);
  }

  async untilSize(ordinal: number, size: number): Promise<void> {
    while ((await this.size(ordinal)) < size) await sleep(POLL_MS);
  }

  /** A replica that copied everything writes its log anew, and has nothing of it on its volume before that ends. */
  async untilOnVolume(ordinal: number): Promise<void> {
    await this.untilReady(ordinal);
    await using redis = await this.connect(ordinal);
    while (/aof_rewrite_(in_progress|scheduled):1/.test(String(await redis.reads.one(["INFO", "persistence"]))))
      await sleep(POLL_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const ordinal of [...this.#running.keys()]) await this.kill(ordinal);
    await rm(this.#root, { recursive: true, force: true });
  }
}

export const write = (redis: RedisConnections, key: string) => redis.commits.one(["SET", key, "1"], { replicated: true });
