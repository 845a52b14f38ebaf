/**
 * The Redis driver is tested against the real server, with the durability that production requires (`appendfsync always`), alone, with
 * replicas, and as a cluster of three.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ChildServer } from "./child-server.js";
import { freePorts } from "./free-port.js";
import { PORT_ATTEMPTS_MAX, READY_MS_MAX, READY_POLL_MS } from "./limits.js";
import { fromPackages, type InstalledProgram, onPath } from "./programs.js";
import { type RedisReply, requestRedis } from "./redis-talk.js";
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

export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly directory: string;
  readonly password: string | undefined;
  readonly #data: DataDirectory;
  readonly #config: Readonly<Record<string, string>>;
  #child: ChildServer;

  private constructor(
    child: ChildServer,
    port: number,
    data: DataDirectory,
    config: Readonly<Record<string, string>>,
    password?: string,
  ) {
    this.#child = child;
    this.port = port;
    this.#data = data;
    this.directory = data.path;
    this.#config = config;
    this.password = password;
  }

  static async start(options: RedisServerOptions): Promise<RedisServer> {
    const data = await dataDirectory("redis", options.directory);
    const config = {
      ...CONFIG,
      ...(options.password === undefined ? {} : { requirepass: options.password, masterauth: options.password }),
      ...options.config,
    };
    for (let attempt = 1; ; attempt++) {
      const port = options.port ?? ((await freePorts(1))[0] as number);
      const child = await launch(port, data.path, config);
      try {
        await child.ready(() => answers(port, options.password));
        return new RedisServer(child, port, data, config, options.password);
      } catch (cause) {
        await child.kill();
        const isPortInUse = /Address already in use/.test(child.log());
        if (options.port === undefined && isPortInUse && attempt < PORT_ATTEMPTS_MAX) continue;
        await data.remove();
        throw cause;
      }
    }
  }

  get url(): string {
    return `redis://${this.password === undefined ? "" : `:${this.password}@`}127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.isRunning;
  }

  /** The last lines of its log. */
  log(): string {
    return this.#child.log();
  }

  request(...command: string[]): Promise<RedisReply> {
    return requestRedis(this.port, command, this.password);
  }

  /** kill -9: acknowledged writes must survive it. */
  kill(): Promise<void> {
    return this.#child.kill();
  }

  /** Ends it in peace; port and data stay. */
  stop(): Promise<void> {
    return this.#child.stop();
  }

  /** Frozen: connections stay open and no request is answered. */
  freeze(): void {
    this.#child.signal("SIGSTOP");
  }

  thaw(): void {
    this.#child.signal("SIGCONT");
  }

  /** Starts it again on the same port and data after `kill` or `stop`. */
  async start(): Promise<void> {
    this.#child = await launch(this.port, this.directory, this.#config);
    await this.#child.ready(() => answers(this.port, this.password));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.kill(); // Its data is not needed any more, or is in its log.
    await this.#data.remove();
  }
}

export function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  return RedisServer.start(options);
}

async function launch(port: number, directory: string, config: Readonly<Record<string, string>>): Promise<ChildServer> {
  const { path, env } = await redisProgram();
  const settings = Object.entries({ ...config, port: String(port), dir: directory });
  // One value may have several words (`save 900 1`); an empty one is an argument of its own.
  const args = settings.flatMap(([name, value]) => [`--${name}`, ...(value === "" ? [""] : value.split(" "))]);
  return ChildServer.launch({ command: path, args, cwd: directory, env });
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
