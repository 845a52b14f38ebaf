/**
 * The Redis driver is tested against the real server, with the durability that production requires (`appendfsync always`), alone, with
 * replicas, and as a cluster of three.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChildProgram } from "@perdure/processes";
import { freePorts } from "./free-port.js";
import { READY_MS_MAX, READY_POLL_MS } from "./limits.js";
import { fromPackages, type InstalledProgram, onPath } from "./programs.js";
import { type RedisReply, requestRedis } from "./redis-talk.js";
import { launchOnPort, launchServer, ServerProgram } from "./server-program.js";
import { type DataDirectory, dataDirectory } from "./temporary.js";

export interface RedisServerOptions {
  /** Kept when given; else a temporary one that goes with the server. */
  readonly directory?: string;
  /** A free one when absent. */
  readonly port?: number;
  readonly password?: string;
  /** Settings of redis.conf that add to ours or replace them. */
  readonly config?: Readonly<Record<string, string>>;
}

/** Durable before it answers, no snapshots beside the log, and streams that take as little memory as they have content. */
const CONFIG: Readonly<Record<string, string>> = {
  bind: "127.0.0.1",
  appendonly: "yes",
  appendfsync: "always",
  save: "",
  daemonize: "no",
  "stream-node-max-bytes": "512",
};

let program: Promise<InstalledProgram> | undefined;

/** `redis-server` from the PATH, else unpacked from Debian packages; `redis-cli` is beside it. */
export function redisProgram(): Promise<InstalledProgram> {
  program ??= (async () => {
    const installed = onPath("redis-server");
    if (installed !== undefined) return { path: installed, env: {} };
    return fromPackages("redis", ["redis-server", "redis-tools"], "usr/bin/redis-server");
  })();
  return program;
}

export class RedisServer extends ServerProgram implements AsyncDisposable {
  readonly port: number;
  readonly directory: string;
  readonly password: string | undefined;
  readonly #data: DataDirectory;

  private constructor(child: ChildProgram, port: number, data: DataDirectory, password: string | undefined) {
    super(child, () => answers(port, password));
    this.port = port;
    this.#data = data;
    this.directory = data.path;
    this.password = password;
  }

  static async start(options: RedisServerOptions): Promise<RedisServer> {
    const data = await dataDirectory("redis", options.directory);
    const { password } = options;
    const config = {
      ...CONFIG,
      ...(password === undefined ? {} : { requirepass: password, masterauth: password }),
      ...options.config,
    };
    try {
      const launchAt = (port: number): Promise<ChildProgram> => launch(port, data.path, config, password);
      const { child, port } = await launchOnPort(options.port, /Address already in use/, launchAt);
      return new RedisServer(child, port, data, password);
    } catch (cause) {
      await data.remove();
      throw cause;
    }
  }

  get url(): string {
    return `redis://${this.password === undefined ? "" : `:${this.password}@`}127.0.0.1:${this.port}`;
  }

  request(...command: string[]): Promise<RedisReply> {
    return requestRedis(this.port, command, this.password);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill(); // Its data is not needed any more, or is in its log.
    await this.#data.remove();
  }
}

export function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  return RedisServer.start(options);
}

async function launch(
  port: number,
  directory: string,
  config: Readonly<Record<string, string>>,
  password: string | undefined,
): Promise<ChildProgram> {
  const { path, env } = await redisProgram();
  const settings = Object.entries({ ...config, port: String(port), dir: directory });
  // One value may have several words (`save 900 1`); an empty one is an argument of its own.
  const args = settings.flatMap(([name, value]) => [`--${name}`, ...(value === "" ? [""] : value.split(" "))]);
  return launchServer({ command: path, args, cwd: directory, env }, () => answers(port, password));
}

async function answers(port: number, password: string | undefined): Promise<boolean> {
  try {
    return (await requestRedis(port, ["PING"], password)) === "PONG";
  } catch {
    return false; // Not listening yet, or still loading its data.
  }
}

async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + READY_MS_MAX; ; await sleep(READY_POLL_MS)) {
    if (await holds()) return;
    if (performance.now() > deadline) throw new Error(`${what} did not come about in ${READY_MS_MAX} ms`);
  }
}

// ── with replicas ────────────────────────────────────────────────────────────────────────────────

export interface ReplicatedRedis extends AsyncDisposable {
  readonly primary: RedisServer;
  readonly replicas: readonly RedisServer[];
}

/** A primary and replicas that have caught up with it. */
export async function startReplicatedRedis(replicaCount = 1, options: RedisServerOptions = {}): Promise<ReplicatedRedis> {
  await using started = new AsyncDisposableStack();
  const primary = started.use(await startRedis({ ...options, config: { ...options.config, "repl-diskless-sync-delay": "0" } }));
  const replicas: RedisServer[] = [];
  for (let n = 0; n < replicaCount; n++) {
    const config = { ...options.config, replicaof: `127.0.0.1 ${primary.port}` };
    replicas.push(started.use(await startRedis({ ...options, config })));
  }
  await eventually("replication", async () => {
    const text = String(await primary.request("INFO", "replication"));
    return [...text.matchAll(/^slave\d+:.*state=online/gm)].length === replicaCount;
  });
  const owned = started.move();
  return { primary, replicas, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

// ── a cluster ────────────────────────────────────────────────────────────────────────────────────

export interface RedisCluster extends AsyncDisposable {
  readonly nodes: readonly RedisServer[];
}

const SLOTS = 16_384;

/** A Redis Cluster of primaries that share the slots evenly. */
export async function startRedisCluster(
  nodeCount = 3,
  options: Omit<RedisServerOptions, "port" | "directory"> = {},
): Promise<RedisCluster> {
  await using started = new AsyncDisposableStack();
  const nodes: RedisServer[] = [];
  const busPorts = await freePorts(nodeCount);
  for (const busPort of busPorts) {
    const config = {
      ...options.config,
      "cluster-enabled": "yes",
      "cluster-port": String(busPort),
      "cluster-node-timeout": "2000",
      "cluster-config-file": `nodes-${randomBytes(4).toString("hex")}.conf`,
    };
    nodes.push(started.use(await startRedis({ ...options, config })));
  }
  const [first, ...others] = nodes as [RedisServer, ...RedisServer[]];
  for (const [n, node] of nodes.entries()) {
    const from = Math.floor((n * SLOTS) / nodeCount);
    const to = Math.floor(((n + 1) * SLOTS) / nodeCount) - 1;
    await node.request("CLUSTER", "ADDSLOTSRANGE", String(from), String(to));
    await node.request("CLUSTER", "SET-CONFIG-EPOCH", String(n + 1));
  }
  for (const node of others) await node.request("CLUSTER", "MEET", "127.0.0.1", String(first.port), String(busPorts[0]));
  await eventually("the cluster", async () => {
    const states = await Promise.all(nodes.map(async (node) => String(await node.request("CLUSTER", "INFO"))));
    return states.every((text) => text.includes("cluster_state:ok") && text.includes(`cluster_known_nodes:${nodeCount}`));
  });
  const owned = started.move();
  return { nodes, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
