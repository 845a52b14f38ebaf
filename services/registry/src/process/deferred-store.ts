/**
 * Partition reader that connects at first use. Only deploy checks read partitions and their archive, so a registry needs no Redis to
 * start.
 */
import type { Clock, InvocationId, Logger } from "@perdure/base";
import { deferredPostgresArchive } from "@perdure/postgres";
import { connectRedis, type RedisConnectionOptions, type RedisConnections, RedisPartitionStore } from "@perdure/redis";
import type { Invocation, JournalEntry } from "@perdure/state-machine";
import { type Archive, type AsyncPartitionStore, archived } from "@perdure/storage";
import type { CheckedStore } from "../check-ports.js";

interface DeferredStoreOptions {
  readonly redis: RedisConnectionOptions;
  /** Connection to the archive. */
  readonly postgresUrl: string;
  readonly environment: string;
}

/** Everything rejects with STO0001 while Redis is unreachable, or the archive where it is needed; the next request tries again. */
export class DeferredStore implements CheckedStore, AsyncDisposable {
  readonly #options: DeferredStoreOptions;
  readonly #ports: { readonly clock: Clock; readonly logger: Logger };
  readonly #archive: Archive;
  #connections: Promise<RedisConnections> | undefined;

  constructor(options: DeferredStoreOptions, ports: { readonly clock: Clock; readonly logger: Logger }) {
    this.#options = options;
    this.#ports = ports;
    this.#archive = deferredPostgresArchive({ url: options.postgresUrl, environment: options.environment }, ports);
  }

  async *unfinished(partition: number, status: Invocation["status"] | undefined): AsyncIterable<Invocation> {
    yield* (await this.#store()).unfinished(partition, status);
  }
  async *completed(partition: number): AsyncIterable<Invocation> {
    yield* (await this.#store()).completed(partition);
  }
  async readJournal(partition: number, id: InvocationId, length: number): Promise<readonly JournalEntry[]> {
    return (await this.#store()).readJournal(partition, id, length);
  }
  async stateOf(partition: number, keyspace: string, key: string): Promise<ReadonlyMap<string, Uint8Array>> {
    return (await this.#store()).stateOf(partition, keyspace, key);
  }

  async #store(): Promise<AsyncPartitionStore> {
    this.#connections ??= connectRedis(this.#options.redis, this.#ports);
    try {
      const store = new RedisPartitionStore(await this.#connections, { environment: this.#options.environment });
      return archived(store, this.#archive, () => this.#ports.clock.nowMs());
    } catch (cause) {
      this.#connections = undefined;
      throw cause;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#archive[Symbol.asyncDispose]();
    await (await this.#connections?.catch(() => undefined))?.[Symbol.asyncDispose](); // A connection that failed needs no disposal.
  }
}
