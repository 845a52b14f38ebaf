/** The archive of a cluster: completed invocations of one environment in PostgreSQL, shared by every process. */
import {
  type Clock,
  type InvocationId,
  invariant,
  invocationIdFromRaw,
  invocationIdToRaw,
  type Logger,
  PerdureError,
} from "@perdure/base";
import type { JournalEntry, JournalEvent } from "@perdure/state-machine";
import {
  type Archive,
  type ArchivedGeneration,
  type ArchivedRow,
  type ArchiveFilter,
  type ArchiveOutcome,
  type ArchiveRecord,
  type ArchivingLeader,
  boundedEntries,
  decodeEntry,
  decodeEvent,
  JournalTooLarge,
  unpackRows,
} from "@perdure/storage";
import pg from "pg";
import { DeferredMigration } from "./deferred-migration.js";
import { failure } from "./failure.js";
import {
  ARCHIVE_CONNECT_TIMEOUT_MS,
  ARCHIVE_CONNECTIONS_MAX,
  ARCHIVE_FIND_TIMEOUT_MS,
  ARCHIVE_PACKED_BYTES_ALLOWANCE,
  ARCHIVE_PACKED_BYTES_FACTOR,
  ARCHIVE_SCAN_PAGE,
  ARCHIVE_STATEMENT_TIMEOUT_MS,
  STATEMENT_TIMEOUT_MS,
} from "./limits.js";
import { migrateDatabase, type PostgresConnectionOptions } from "./metadata-store.js";
import { clientOption } from "./observed-client.js";

/** An archive that reports its size. */
export interface SizedArchive extends Archive {
  /** Size of all archived invocations of the environment, in bytes. Reads every row: call it seldom. Rejects with STO0001. */
  storedBytes(): Promise<number>;
}

interface DeferredArchivePorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Migrates the database first. Rejects with META0010 when it is newer than this version, STO0001 when it cannot be reached. */
export async function openPostgresArchive(options: PostgresConnectionOptions, logger: Logger): Promise<Archive> {
  await migrateDatabase(options.url, logger);
  return new PostgresArchive(options, logger, undefined);
}

/**
 * The same for a process that must start without its database: migrates at the first call; until the migration has succeeded every method
 * rejects, with STO0001 or META0010.
 */
export function deferredPostgresArchive(
  options: PostgresConnectionOptions,
  { clock, logger }: DeferredArchivePorts,
): SizedArchive {
  return new PostgresArchive(options, logger, new DeferredMigration(options.url, { clock, logger }));
}

function poolOf(options: PostgresConnectionOptions, logger: Logger): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: ARCHIVE_CONNECTIONS_MAX,
    connectionTimeoutMillis: ARCHIVE_CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    ...clientOption(options.observer),
  });
  // The pool replaces an idle connection that breaks.
  pool.on("error", (error) => logger.warn({ error: error.message }, "a connection of the archive broke"));
  return pool;
}

interface ArchiveRow {
  readonly id: Buffer;
  readonly retained_until_ms: string;
  readonly expires: boolean;
  readonly row: Buffer;
}
interface ScannedRow extends ArchiveRow {
  readonly created_at_ms: string;
}

const DONE: ArchiveOutcome = Object.freeze({ kind: "done" });

class PostgresArchive implements SizedArchive {
  readonly #pool: pg.Pool;
  readonly #environment: string;
  /** Undefined: the database has been migrated. */
  readonly #migration: DeferredMigration | undefined;
  /** Resolves when no write is under way. Writers take turns, so that reads, for which clients wait, always find a connection. */
  #writing: Promise<unknown> = Promise.resolve();
  #isOpen = true;

  constructor(options: PostgresConnectionOptions, logger: Logger, migration: DeferredMigration | undefined) {
    this.#pool = poolOf(options, logger);
    this.#environment = options.environment;
    this.#migration = migration;
  }

  put(leader: ArchivingLeader, records: readonly ArchiveRecord[]): Promise<ArchiveOutcome> {
    return this.#write(
      "archive-put",
      "SELECT perdure_archive_put($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13) AS fenced",
      leader,
      [
        records.map(({ id }) => rawOf(id)),
        records.map(({ service }) => service),
        records.map(({ isFailure }) => isFailure),
        records.map(({ createdAtMs }) => createdAtMs),
        records.map(({ completedAtMs }) => completedAtMs),
        records.map(({ retainedUntilMs }) => retainedUntilMs),
        records.map(({ expires }) => expires),
        records.map(({ row }) => bufferOf(row)),
        records.map(({ journal }) => bufferOf(journal)),
        records.map(({ events }) => bufferOf(events)),
      ],
    );
  }

  delete(leader: ArchivingLeader, generations: readonly ArchivedGeneration[]): Promise<ArchiveOutcome> {
    return this.#write("archive-forget", "SELECT perdure_archive_forget($1, $2, $3, $4, $5) AS fenced", leader, [
      generations.map(({ id }) => rawOf(id)),
      generations.map(({ retainedUntilMs }) => retainedUntilMs),
    ]);
  }

  async #write(name: string, text: string, leader: ArchivingLeader, values: readonly unknown[]): Promise<ArchiveOutcome> {
    const key = [this.#environment, leader.partition, leader.epoch];
    const [row] = await this.#inTurn(() => this.#query<{ fenced: string | null }>(name, text, [...key, ...values]));
    invariant(row !== undefined, "a write has an outcome");
    return row.fenced === null ? DONE : { kind: "fenced", by: Number(row.fenced) };
  }

  async find(ids: readonly InvocationId[]): Promise<readonly ArchivedRow[]> {
    if (ids.length === 0) return [];
    const text =
      "SELECT id, retained_until_ms, expires, row FROM perdure_archive WHERE environment = $1 AND id = ANY($2::bytea[])";
    const values = [this.#environment, ids.map(rawOf)];
    return (await this.#query<ArchiveRow>("archive-find", text, values, ARCHIVE_FIND_TIMEOUT_MS)).map(rowOf);
  }

  async journal(id: InvocationId, bytesMax?: number): Promise<readonly JournalEntry[]> {
    if (bytesMax !== undefined) await this.#checkBytes(id, bytesMax);
    return boundedEntries(unpackRows(await this.#packed("journal", id)).map(decodeEntry), bytesMax);
  }

  /** Rejects before the journal is fetched when it is certainly too large. */
  async #checkBytes(id: InvocationId, bytesMax: number): Promise<void> {
    const text = "SELECT octet_length(journal) AS bytes FROM perdure_archive WHERE environment = $1 AND id = $2";
    const [row] = await this.#query<{ bytes: number }>("archive-journal-bytes", text, [this.#environment, rawOf(id)]);
    const fetchedMax = ARCHIVE_PACKED_BYTES_FACTOR * bytesMax + ARCHIVE_PACKED_BYTES_ALLOWANCE;
    if (row !== undefined && row.bytes > fetchedMax) throw new JournalTooLarge(bytesMax);
  }

  async events(id: InvocationId): Promise<readonly JournalEvent[]> {
    return unpackRows(await this.#packed("events", id)).map(decodeEvent);
  }

  async #packed(column: "journal" | "events", id: InvocationId): Promise<Uint8Array> {
    const text = `SELECT ${column} AS packed FROM perdure_archive WHERE environment = $1 AND id = $2`;
    const [row] = await this.#query<{ packed: Buffer }>(`archive-${column}`, text, [this.#environment, rawOf(id)]);
    return row?.packed ?? Buffer.alloc(0);
  }

  async expire(nowMs: number, limit: number): Promise<number> {
    // Several processes may clean at the same time: each takes what no other is taking.
    const text =
      "WITH due AS (SELECT id FROM perdure_archive WHERE environment = $1 AND expires AND retained_until_ms <= $2 " +
      "ORDER BY retained_until_ms LIMIT $3 FOR UPDATE SKIP LOCKED), " +
      "gone AS (DELETE FROM perdure_archive a USING due WHERE a.environment = $1 AND a.id = due.id RETURNING 1) " +
      "SELECT count(*) AS count FROM gone";
    const values = [this.#environment, nowMs, limit];
    const [row] = await this.#inTurn(() => this.#query<{ count: string }>("archive-expire", text, values));
    return Number(row?.count ?? 0);
  }

  async storedBytes(): Promise<number> {
    // The lengths are read without the long values.
    const text =
      "SELECT coalesce(sum(octet_length(row) + octet_length(journal) + octet_length(events)), 0) AS bytes " +
      "FROM perdure_archive WHERE environment = $1";
    const [row] = await this.#query<{ bytes: string }>("archive-size", text, [this.#environment]);
    return Number(row?.bytes ?? 0);
  }

  #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const turn = this.#writing.then(write);
    this.#writing = turn.catch(() => undefined); // The writer gets the error; the next one tries for itself.
    return turn;
  }

  async *scan(filter: ArchiveFilter): AsyncIterable<readonly ArchivedRow[]> {
    const { partition, service, isFailure, createdFromMs = 0, createdToMs = Number.MAX_SAFE_INTEGER } = filter;
    const filters: readonly (readonly [string, unknown])[] = [
      ["partition", partition],
      ["service", service],
      ["is_failure", isFailure],
    ];
    const given = filters.filter(([, value]) => value !== undefined);
    const conditions = given.map(([column], n) => `AND ${column} = $${n + 6}`).join(" ");
    const text =
      "SELECT id, created_at_ms, retained_until_ms, expires, row FROM perdure_archive " +
      "WHERE environment = $1 AND created_at_ms >= $2 AND created_at_ms < $3 AND (created_at_ms, id) > ($4, $5::bytea) " +
      `${conditions} ORDER BY created_at_ms, id LIMIT ${ARCHIVE_SCAN_PAGE}`;
    const name = `archive-scan-${given.map(([column]) => column).join("-")}`;
    let [afterMs, after] = [-1, Buffer.alloc(0)];
    for (;;) {
      const from = [this.#environment, Math.max(createdFromMs, afterMs), createdToMs, afterMs, after];
      const page = await this.#query<ScannedRow>(name, text, [...from, ...given.map(([, value]) => value)]);
      const last = page[page.length - 1];
      if (last === undefined) return;
      yield page.map(rowOf);
      if (page.length < ARCHIVE_SCAN_PAGE) return;
      afterMs = Number(last.created_at_ms);
      after = Buffer.from(last.id);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#migration?.close();
    await this.#pool.end();
  }

  async #query<R extends pg.QueryResultRow>(
    name: string,
    text: string,
    values: readonly unknown[],
    query_timeout = ARCHIVE_STATEMENT_TIMEOUT_MS,
  ): Promise<R[]> {
    if (!this.#isOpen) throw new PerdureError("STO0001", "the archive is closed");
    // Our own clock, because a server that is frozen keeps no time.
    const query: pg.QueryConfig & { readonly query_timeout: number } = { name, text, values: [...values], query_timeout };
    try {
      await this.#migration?.done(query_timeout);
      return (await this.#pool.query<R>(query)).rows;
    } catch (cause) {
      throw failure(cause);
    }
  }
}

function rowOf({ id, retained_until_ms, expires, row }: ArchiveRow): ArchivedRow {
  return { id: invocationIdFromRaw(id), retainedUntilMs: Number(retained_until_ms), expires, row };
}

function rawOf(id: InvocationId): Buffer {
  return bufferOf(invocationIdToRaw(id));
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
