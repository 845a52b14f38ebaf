/**
 * Runs a statement until all columns it needs are gathered. The engine decides which columns of which tables a statement needs, and
 * requests them while it runs. So a statement runs until it requests a missing column, that column is gathered, and the statement runs
 * again. Each round adds columns, and no run takes long before it has requested all it reads. Queries for keys (`keys.ts`) run in the
 * same way before their table is gathered.
 */
import type { PreparedText } from "../duckdb/database.js";
import type { StatementRows } from "../duckdb/table-function.js";
import type { ResultRows } from "../encode/result.js";
import { isEngineBroken, TooMuchData, ValueTooLarge } from "../errors.js";
import { KEYS_MAX, tableCost } from "../limits.js";
import type { ColumnType, SqlTable } from "../table.js";
import { type GatherBudget, type GatheredTable, gather } from "./gather.js";
import { type ColumnFilter, NO_HINTS, type ScanHints } from "./hints.js";
import { type KeySource, keySourcesOf } from "./keys.js";
import { hintsOf } from "./pushdown.js";
import type { StatementPorts } from "./run.js";

export class StatementReads implements StatementRows {
  readonly #ports: StatementPorts;
  readonly #budget: GatherBudget;
  readonly #signal: AbortSignal;
  readonly #hints: Map<string, ScanHints>;
  readonly #sources: Map<string, readonly KeySource[]>;
  readonly #gathered = new Map<string, GatheredTable>();
  /** Tables whose keys are being found. */
  readonly #open = new Set<string>();
  /** Columns to gather, including those gathered already: two scans of one table see the same rows. */
  readonly #requested = new Map<string, Set<number>>();

  constructor(ports: StatementPorts, tree: unknown, budget: GatherBudget, signal: AbortSignal) {
    this.#ports = ports;
    this.#budget = budget;
    this.#signal = signal;
    this.#hints = hintsOf(tree, ports.tables);
    this.#sources = new Map(keySourcesOf(tree, ports.tables));
  }

  /** Rejects with the engine's error, `TooMuchData` or the signal's reason. */
  async run(statement: PreparedText, readingSignal: AbortSignal): Promise<ResultRows> {
    for (;;) {
      this.#signal.throwIfAborted();
      try {
        return await statement.run(this, readingSignal);
      } catch (cause) {
        this.#signal.throwIfAborted();
        if (this.#requested.size === 0) throw cause;
      }
      const requested = [...this.#requested].sort(([one], [other]) => tableCost(one) - tableCost(other));
      this.#requested.clear();
      for (const [name, columns] of requested) {
        const table = this.#ports.tables.find((table) => table.name === name);
        if (table !== undefined) await this.#gather(table, columns);
      }
    }
  }

  gathered(table: string): GatheredTable | undefined {
    return this.#gathered.get(table);
  }

  missing(table: string, columns: readonly number[]): void {
    const requestedColumns = this.#requested.get(table) ?? new Set(this.#gathered.get(table)?.columns.keys());
    for (const column of columns) requestedColumns.add(column);
    this.#requested.set(table, requestedColumns);
  }

  async #gather(table: SqlTable, columns: ReadonlySet<number>): Promise<void> {
    await this.#narrow(table.name);
    const { source } = this.#ports;
    // These columns are gathered again.
    for (const column of this.#gathered.get(table.name)?.columns.values() ?? []) this.#budget.bytesLeft += column.bytes;
    const hints = this.#hints.get(table.name) ?? NO_HINTS;
    this.#gathered.set(table.name, await gather(table, columns, source, hints, this.#budget, this.#signal));
  }

  /** Adds a filter of the values that a column may have, when they are few and cheap to find. */
  async #narrow(table: string): Promise<void> {
    const sources = this.#sources.get(table) ?? [];
    if (sources.length === 0 || this.#open.has(table)) return;
    this.#open.add(table);
    try {
      const left: KeySource[] = [];
      for (const source of sources) {
        const hints = this.#hints.get(table) ?? NO_HINTS;
        const filter = hints.filters.get(source.column);
        if (filter?.allowed !== undefined) continue; // The statement names a few values already.
        if (!this.#isWorthIt(source, table)) {
          left.push(source);
          continue;
        }
        const keys = await this.#keysOf(source);
        if (keys === undefined) continue;
        const narrowed: ColumnFilter = { allowed: keys, denied: filter?.denied ?? new Set() };
        this.#hints.set(table, { ...hints, filters: new Map([...hints.filters, [source.column, narrowed]]) });
      }
      this.#sources.set(table, left);
    } finally {
      this.#open.delete(table);
    }
  }

  #isWorthIt({ tables, isPart }: KeySource, of: string): boolean {
    const names = [...tables];
    if (names.some((name) => this.#open.has(name))) return false;
    // Of a pair that could each narrow the other, the cheaper one comes first.
    const isNarrowedFirst = names.some((name) => tableCost(name) > tableCost(of) && this.#sources.has(name));
    if (isPart && !isNarrowedFirst) return true;
    return names.every((name) => this.#gathered.has(name) || tableCost(name) < tableCost(of));
  }

  /** Undefined when there are too many values, or the query cannot run alone. */
  async #keysOf({ query, type }: KeySource): Promise<ReadonlySet<string> | undefined> {
    let rows: ResultRows;
    try {
      const { session } = this.#ports;
      const text = await session.print(query);
      using statement = await session.prepare(`SELECT DISTINCT k FROM (${text}) AS keys(k) LIMIT ${KEYS_MAX + 1}`);
      rows = await this.run(statement, this.#signal);
    } catch (cause) {
      this.#signal.throwIfAborted();
      if (cause instanceof TooMuchData || cause instanceof ValueTooLarge || isEngineBroken(cause)) throw cause;
      return undefined; // The query names something that only the whole statement has.
    }
    if (rows.columns.length !== 1 || !isOfType(rows.columns[0]?.type.kind ?? "", type)) return undefined;
    const keys = new Set<string>();
    for await (const { columns } of rows.batches) {
      for (const value of columns[0]?.values ?? []) if (value !== null) keys.add(String(value));
    }
    return keys.size > KEYS_MAX ? undefined : keys;
  }
}

function isOfType(kind: string, type: ColumnType): boolean {
  return type === "text" ? kind === "text" : kind === "int64" || kind === "uint64" || kind === "uint32";
}
