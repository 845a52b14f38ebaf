/**
 * Why: the engine decides which columns of which tables a statement needs, and asks for them while it runs; ours is to have them.
 * So a statement runs until it asks for what is not there, that is gathered, and it runs again. Each round adds columns, and
 * nothing runs long before it has asked.
 */
import type { Session } from "../duckdb/database.js";
import type { StatementRows } from "../duckdb/table-function.js";
import type { ResultRows } from "../encode/result.js";
import type { IntrospectionSource } from "../ports.js";
import type { Table } from "../table.js";
import { type GatherBudget, type GatheredTable, gather } from "./gather.js";
import { NO_HINTS } from "./hints.js";
import { namesOf } from "./names.js";
import { checkPermitted } from "./permitted.js";
import { hintsOf } from "./pushdown.js";
import type { CheckedStatement } from "./statement.js";

export interface RunPorts {
  readonly session: Session;
  readonly source: IntrospectionSource;
  readonly tables: readonly Table[];
}

/** `signal` ends the run, `readingSignal` the walk over its rows. Rejects with the engine's error, `NotAQuery`, `TooMuchData` or the signal's reason. */
export async function runStatement(
  statement: CheckedStatement & { readonly kind: "statement" },
  { session, source, tables }: RunPorts,
  budget: GatherBudget,
  signal: AbortSignal,
  readingSignal: AbortSignal,
): Promise<ResultRows> {
  const tree = await session.parse(statement.query);
  checkPermitted(tree, new Set(tables.map(({ name }) => name)));
  const hints = hintsOf(tree, tables);
  const names = statement.text === statement.query ? namesOf(tree) : undefined;
  await session.check(statement.query);
  const rows = new NeededRows();
  for (;;) {
    signal.throwIfAborted();
    try {
      return named(await session.run(statement.text, rows, readingSignal), names);
    } catch (cause) {
      signal.throwIfAborted();
      if (rows.wanted.size === 0) throw cause;
    }
    for (const table of tables) {
      const columns = rows.takeWanted(table.name);
      if (columns === undefined) continue;
      rows.put(table.name, await gather(table, columns, source, hints.get(table.name) ?? NO_HINTS, budget, signal));
    }
  }
}

function named(rows: ResultRows, names: readonly (string | undefined)[] | undefined): ResultRows {
  if (names?.length !== rows.columns.length) return rows;
  return { ...rows, columns: rows.columns.map((column, i) => ({ ...column, name: names[i] ?? column.name })) };
}

/** What was gathered for one statement, and what it still wants. */
class NeededRows implements StatementRows {
  readonly #tables = new Map<string, GatheredTable>();
  /** Columns to gather, those known already included: two scans of one table see the same rows. */
  readonly wanted = new Map<string, Set<number>>();

  gathered(table: string): GatheredTable | undefined {
    return this.#tables.get(table);
  }

  missing(table: string, columns: readonly number[]): void {
    const known = this.wanted.get(table) ?? new Set(this.#tables.get(table)?.columns.keys());
    for (const column of columns) known.add(column);
    this.wanted.set(table, known);
  }

  takeWanted(table: string): ReadonlySet<number> | undefined {
    const columns = this.wanted.get(table);
    this.wanted.delete(table);
    return columns;
  }

  put(table: string, gathered: GatheredTable): void {
    this.#tables.set(table, gathered);
  }
}
