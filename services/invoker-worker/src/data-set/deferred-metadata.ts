/**
 * Connection to PostgreSQL that opens when the record of the data set is first needed: a worker must start, and continue, while
 * PostgreSQL is unreachable.
 */
import type { Logger } from "@perdure/base";
import type { DocumentWrite, MetadataStore } from "@perdure/metadata";
import { openPostgresMetadataStore, type PostgresConnectionOptions } from "@perdure/postgres";

export class DeferredMetadata implements Pick<MetadataStore, "get" | "write">, AsyncDisposable {
  readonly #options: PostgresConnectionOptions;
  readonly #logger: Logger;
  #opening: Promise<MetadataStore> | undefined;

  constructor(options: PostgresConnectionOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
  }

  async get(key: string) {
    return (await this.#store()).get(key);
  }

  async write(writes: readonly DocumentWrite[]) {
    return (await this.#store()).write(writes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const store = await this.#opening?.catch(() => undefined); // A connection that failed needs no disposal.
    await store?.[Symbol.asyncDispose]();
  }

  /** Rejects as `openPostgresMetadataStore` does; the next call tries again. */
  #store(): Promise<MetadataStore> {
    this.#opening ??= openPostgresMetadataStore(this.#options, this.#logger).catch((cause: unknown) => {
      this.#opening = undefined;
      throw cause;
    });
    return this.#opening;
  }
}
