/**
 * The metadata store of a cluster: documents of one environment in PostgreSQL, shared by every process. A write is one statement, and
 * listeners are notified when it is committed.
 */
import { compareBytes, invariant, type Logger, type OperationObserver, present, type Random, utf8 } from "@perdure/base";
import type { Document, DocumentWrite, MetadataStore, WriteOutcome } from "@perdure/metadata";
import { checkKey, checkWrites, documentText, documentValue, LISTED_DOCUMENTS_MAX } from "@perdure/metadata";
import pg from "pg";
import { failure } from "./failure.js";
import { CONNECT_TIMEOUT_MS, CONNECTIONS_MAX, QUERY_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from "./limits.js";
import { NotificationListener } from "./listener.js";
import { migrate } from "./migrate.js";
import { clientOption, type PoolCounts, poolCounts } from "./observed-client.js";

export interface PostgresConnectionOptions {
  /** `postgres://user:password@host:port/database`, with the parameters that `pg` supports (`sslmode` …). */
  readonly url: string;
  /** Name of the environment; several environments share a database. */
  readonly environment: string;
  /** Notified of statements. */
  readonly observer?: OperationObserver | undefined;
  /** Draws the pauses between attempts to connect. */
  readonly random?: Random | undefined;
}

export interface PostgresMetadataStore extends MetadataStore {
  /** Calls back after writes of any process, soon after they are committed, and whenever notifications may have been missed. */
  onChange(listener: () => void): () => void;
  /** A text that is another after any change below `prefix`, and costs less than a list. */
  stamp(prefix: string): Promise<string>;
  connections(): PoolCounts;
}

/** Migrates the database first. Rejects with META0010 when it is newer than this version, STO0001 when it cannot be reached. */
export async function openPostgresMetadataStore(
  options: PostgresConnectionOptions,
  logger: Logger,
): Promise<PostgresMetadataStore> {
  await migrateDatabase(options.url, logger);
  const pool = new pg.Pool({
    connectionString: options.url,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    ...clientOption(options.observer),
  });
  // The pool replaces an idle connection that breaks.
  pool.on("error", (error) => logger.warn({ error: error.message }, "a database connection broke"));
  const listener = new NotificationListener(options.url, "perdure_documents", logger, options.random);
  return new PostgresStore(pool, options.environment, listener);
}

/** `more`: after the migrations, on the same connection. Rejects with META0010 when the database is newer, STO0001 when it fails. */
export async function migrateDatabase(
  url: string,
  logger: Logger,
  more: (client: pg.Client) => Promise<void> = async () => {},
): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  try {
    await client.connect();
    await migrate(client, logger);
    await more(client);
  } catch (cause) {
    throw failure(cause);
  } finally {
    await client.end();
  }
}

interface DocumentRow {
  readonly key: Buffer;
  readonly version: string;
  readonly value: string;
}

class PostgresStore implements PostgresMetadataStore {
  readonly #pool: pg.Pool;
  readonly #environment: string;
  readonly #listener: NotificationListener;
  #isOpen = true;

  constructor(pool: pg.Pool, environment: string, listener: NotificationListener) {
    this.#pool = pool;
    this.#environment = environment;
    this.#listener = listener;
  }

  connections(): PoolCounts {
    return poolCounts(this.#pool);
  }

  async get(key: string): Promise<Document | undefined> {
    checkKey(key);
    const sql = "SELECT key, version, value FROM perdure_documents WHERE environment = $1 AND key = $2";
    const [row] = await this.#query<DocumentRow>("document", sql, [this.#environment, bytesOf(key)]);
    return row === undefined ? undefined : documentOf(row);
  }

  async list(prefix: string): Promise<readonly Document[]> {
    const first = bytesOf(prefix);
    const end = successor(first);
    const sql =
      "SELECT key, version, value FROM perdure_documents WHERE environment = $1 AND key >= $2 AND ($3::bytea IS NULL OR key < $3) " +
      `ORDER BY key LIMIT ${LISTED_DOCUMENTS_MAX + 1}`;
    const rows = await this.#query<DocumentRow>("documents", sql, [this.#environment, first, end]);
    invariant(rows.length <= LISTED_DOCUMENTS_MAX, "a metadata list stays within its bound");
    return rows.map(documentOf).sort((a, b) => compareBytes(utf8(a.key), utf8(b.key)));
  }

  async stamp(prefix: string): Promise<string> {
    const first = bytesOf(prefix);
    // Versions rise with every write: a document that is put has the highest, and one that goes leaves fewer.
    const sql =
      "SELECT count(*) AS count, coalesce(max(version), 0) AS version FROM perdure_documents " +
      "WHERE environment = $1 AND key >= $2 AND ($3::bytea IS NULL OR key < $3)";
    const [row] = await this.#query<{ count: string; version: string }>("stamp", sql, [
      this.#environment,
      first,
      successor(first),
    ]);
    invariant(row !== undefined, "a count has a row");
    return `${row.count} ${row.version}`;
  }

  async write(writes: readonly DocumentWrite[]): Promise<WriteOutcome> {
    checkWrites(writes);
    const keys = writes.map(({ key }) => bytesOf(key));
    const expected = writes.map(({ expectedVersion }) => expectedVersion ?? null);
    const values = writes.map((write) => (write.kind === "put" ? documentText(write.value) : null));
    const [row] = await this.#query<{ written: string | null; conflict_at: number | null; actual: string | null }>(
      "write",
      "SELECT * FROM perdure_write($1, $2, $3, $4)",
      [this.#environment, keys, expected, values],
    );
    invariant(row !== undefined, "a write has an outcome");
    if (row.written !== null) return { kind: "written", version: Number(row.written) };
    const refused = writes[(row.conflict_at ?? 0) - 1];
    invariant(refused !== undefined, "a refused write names the expectation that failed");
    return { kind: "conflict", key: refused.key, actualVersion: Number(row.actual) };
  }

  onChange(listener: () => void): () => void {
    return this.#listener.onNotification((payload) => {
      if (payload === undefined || payload.slice(0, payload.lastIndexOf(" ")) === this.#environment) listener();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#listener.close();
    await this.#pool.end();
  }

  async #query<R extends pg.QueryResultRow>(name: string, text: string, values: readonly unknown[]): Promise<R[]> {
    invariant(this.#isOpen, "a closed metadata store is not used");
    try {
      return (await this.#pool.query<R>({ name, text, values: [...values] })).rows;
    } catch (cause) {
      throw failure(cause);
    }
  }
}

function documentOf({ key, version, value }: DocumentRow): Document {
  const name = key.toString("utf8");
  return { key: name, version: Number(version), value: documentValue(name, value) };
}

function bytesOf(key: string): Buffer {
  return Buffer.from(key, "utf8");
}

/** The first key after all that start with `prefix`; null when there is none. */
function successor(prefix: Buffer): Buffer | null {
  for (let length = prefix.length; length > 0; length--) {
    const last = present(prefix[length - 1]);
    if (last === 0xff) continue;
    const next = Buffer.from(prefix.subarray(0, length));
    next[length - 1] = last + 1;
    return next;
  }
  return null;
}
