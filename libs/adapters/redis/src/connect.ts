/**
 * Opens the three connections of a process. Redis answers the commands of one connection in order, so commits (which may wait for
 * replicas), reads (with possibly large replies) and leases (which must not wait behind either) each have their own.
 */
import type { Clock, Logger } from "@perdure/base";
import { RedisLink } from "./link.js";
import { type RedisConnectionOptions, TIMEOUT_MS } from "./options.js";
import { RedisRequester } from "./requester.js";
import { checkServer } from "./server-check.js";

interface RedisPorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Connections shared by the stores and leases of a process. */
export interface RedisConnections extends AsyncDisposable {
  readonly commits: RedisRequester;
  readonly reads: RedisRequester;
  readonly leases: RedisRequester;
  /** Prefix of every key; may be empty. */
  readonly keyPrefix: string;
}

/**
 * Resolves when Redis answers. Rejects with STO0001 when it does not answer in time, and with OPS0001 when the options contradict each
 * other or the server evicts keys; a server that may lose acknowledged writes only causes a warning in the log.
 */
export async function connectRedis(options: RedisConnectionOptions, { clock, logger }: RedisPorts): Promise<RedisConnections> {
  const links: RedisLink[] = [];
  const requester = (role: string): RedisRequester => {
    const link = new RedisLink(options, role, logger);
    links.push(link);
    return new RedisRequester(link, clock, options.timeoutMs ?? TIMEOUT_MS, options.replicas ?? 0, options.random);
  };
  const [commits, reads, leases] = [requester("commits"), requester("reads"), requester("leases")];
  const dispose = async (): Promise<void> => {
    await Promise.all(links.map((link) => link[Symbol.asyncDispose]()));
  };
  try {
    await Promise.all([commits, reads, leases].map((requester) => requester.one(["PING"])));
    await checkServer(reads, logger, options.replicas ?? 0);
  } catch (cause) {
    await dispose();
    throw cause;
  }
  return { commits, reads, leases, keyPrefix: options.keyPrefix ?? "", [Symbol.asyncDispose]: dispose };
}
