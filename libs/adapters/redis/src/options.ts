/** Address of Redis, its credentials, and the timeouts of its connections. */
import type { ConnectionOptions } from "node:tls";
import type { Random, Secret } from "@perdure/base";

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

export interface RedisConnectionOptions {
  /** The server; of a cluster any number of its nodes. */
  readonly nodes: readonly [RedisNode, ...RedisNode[]];
  /** Whether the nodes are a Redis Cluster. */
  readonly cluster?: boolean;
  readonly username?: string;
  readonly password?: Secret;
  /** Number of the database; a cluster has only number 0. */
  readonly database?: number;
  /** Encrypts, with what Node's TLS takes: `ca`, `cert`, `key`, `servername` … An empty object trusts the system's authorities. */
  readonly tls?: ConnectionOptions;
  /** PEM file with the authorities to trust instead of the system's, with `tls`. Read for each new connection: authorities are renewed while processes run. */
  readonly caFile?: string;
  /** Replicas that must have a commit before it counts, 0 for none. Only as good as `min-replicas-to-write` of the server. */
  readonly replicas?: number;
  /** Time that a commit or a read waits for an unreachable Redis before it fails with STO0001. Default 10 s. */
  readonly timeoutMs?: number;
  /** Prefix of every key, for a server that others use too; '' when absent. Braces in it put all keys of a cluster on one node. */
  readonly keyPrefix?: string;
  /** Name of this client in `CLIENT LIST`. */
  readonly name?: string;
  /** Draws the pauses between attempts to connect, and between attempts to send a command again. */
  readonly random?: Random;
}

export const TIMEOUT_MS = 10_000;
