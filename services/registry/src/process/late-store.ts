/** Why: only deploy checks read partitions, so a registry needs no Redis to start; it connects when somebody asks for a check. */
import type { Clock, InvocationId, Logger } from "@perdure/base";
import { connectRedis, type RedisConnections, type RedisOptions, RedisPartitionStore } from "@perdure/driver-redis";
import type { Invocation, JournalEntry } from "@perdure/partition";
import type { CheckedStore } from "../check-ports.js";

export interface LateStoreOptions {
  readonly redis: RedisOptions;
  readonly environment: string;
}

/** Everything rejects with STO0001 while Redis does not answer; the next question tries again. */
export class LateStore implements CheckedStore, AsyncDisposable {
  readonly #options: LateStoreOptions;
  readonly #ports: { readonly clock: Clock; readonly logger: Logger };
  #connections: Promise<RedisConnections> | undefined;

  constructor(options: LateStoreOptions, ports: { readonly clock: Clock; readonly logger: Logger }) {
    this.#options = options;
    this.#ports = ports;
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

  async #store(): Promise<RedisPartitionStore> {
    this.#connections ??= connectRedis(this.#options.redis, this.#ports);
    try {
      return new RedisPartitionStore(await this.#connections, { environment: this.#options.environment });
    } catch (cause) {
      this.#connections = undefined;
      throw cause;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#connections?.catch(() => undefined))?.[Symbol.asyncDispose](); // One that never came needs no end.
  }
}
