/**
 * The replication of one Redis server: which role it has and how much of which history, and the command that changes the role. A
 * controller of several servers uses it, over one short connection for each request.
 */
import { PerdureError, type Secret } from "@perdure/base";
import { Redis } from "ioredis";
import { PROBE_MS_MAX } from "./limits.js";
import type { RedisNode } from "./options.js";

export type RedisReplication =
  | RedisRole
  /** It runs and loads its log. */
  | { readonly kind: "loading" }
  | { readonly kind: "silent"; readonly reason: string };

export interface RedisRole {
  readonly kind: "answers";
  readonly role: "primary" | "replica";
  /** Id of the history of writes; two servers with the same one differ only in how much of it they have. */
  readonly history: string;
  /** Bytes of that history that it has applied. */
  readonly offset: number;
  /** Connected replicas of a primary. */
  readonly replicaCount: number;
  /** Host and port that a replica follows; "" for a primary. */
  readonly primary: string;
  readonly isLinkUp: boolean;
  /** Seconds since a replica lost its primary; undefined while it is connected, or when it never was. */
  readonly linkDownSeconds: number | undefined;
  /** A replica that receives all data anew; until then it has no complete data. */
  readonly isSyncing: boolean;
}

export interface ReplicationOptions {
  readonly node: RedisNode;
  readonly password?: Secret | undefined;
}

/** Never rejects. */
export async function readReplication(options: ReplicationOptions): Promise<RedisReplication> {
  try {
    return roleOf(await request(options, ["INFO"]));
  } catch (cause) {
    return { kind: "silent", reason: PerdureError.from(cause).detail };
  }
}

/** Makes it a replica of another server, or the primary of its own data (`undefined`). Rejects with STO0001 when it does not confirm. */
export async function setPrimary(options: ReplicationOptions, primary: RedisNode | undefined): Promise<void> {
  const target = primary === undefined ? ["NO", "ONE"] : [primary.host, String(primary.port)];
  try {
    await request(options, ["REPLICAOF", ...target]);
  } catch (cause) {
    const { host, port } = options.node;
    throw new PerdureError("STO0001", `Redis ${host}:${port} did not confirm REPLICAOF: ${PerdureError.from(cause).detail}`, {
      cause,
    });
  }
}

async function request({ node, password }: ReplicationOptions, [name, ...args]: readonly [string, ...string[]]): Promise<string> {
  const client = new Redis({
    host: node.host,
    port: node.port,
    ...(password === undefined ? {} : { password: password.reveal() }),
    connectTimeout: PROBE_MS_MAX,
    commandTimeout: PROBE_MS_MAX,
    connectionName: "perdure-replication",
    lazyConnect: true,
    // A server that loads its log answers INFO.
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason: Error | undefined;
  client.on("error", (cause: Error) => {
    reason = cause;
  });
  try {
    await client.connect();
    return String(await client.call(name, ...args));
  } catch (cause) {
    throw reason ?? cause;
  } finally {
    client.disconnect();
  }
}

function roleOf(info: string): RedisReplication {
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "";
  if (field("loading") === "1") return { kind: "loading" };
  const isReplica = field("role") === "slave";
  if (!isReplica && field("role") !== "master") return { kind: "silent", reason: "INFO names no role" };
  const downSeconds = Number(field("master_link_down_since_seconds") || -1);
  return {
    kind: "answers",
    role: isReplica ? "replica" : "primary",
    history: field("master_replid"),
    offset: Number(field(isReplica ? "slave_repl_offset" : "master_repl_offset")) || 0,
    replicaCount: Number(field("connected_slaves")) || 0,
    primary: isReplica ? `${field("master_host")}:${field("master_port")}` : "",
    isLinkUp: isReplica && field("master_link_status") === "up",
    linkDownSeconds: isReplica && downSeconds >= 0 ? downSeconds : undefined,
    isSyncing: field("master_sync_in_progress") === "1",
  };
}
