/** Runs the steps of one statement, from its text to its rows. */
import type { DuckdbSession } from "../duckdb/database.js";
import type { ResultRows } from "../encode/result.js";
import type { IntrospectionSource } from "../ports.js";
import type { SqlTable } from "../table.js";
import type { GatherBudget } from "./gather.js";
import { namesOf } from "./names.js";
import { checkPermitted } from "./permitted.js";
import { StatementReads } from "./reads.js";
import type { CheckedStatement } from "./statement.js";

export interface StatementPorts {
  readonly session: DuckdbSession;
  readonly source: IntrospectionSource;
  readonly tables: readonly SqlTable[];
}

/**
 * `signal` ends the run, `readingSignal` the iteration over its rows. Rejects with the engine's error, `NotAQuery`, `TooMuchData` or the
 * signal's reason.
 */
export async function runStatement(
  statement: CheckedStatement & { readonly kind: "statement" },
  { session, source, tables }: StatementPorts,
  budget: GatherBudget,
  signal: AbortSignal,
  readingSignal: AbortSignal,
): Promise<ResultRows> {
  const tree = await session.parse(statement.query);
  checkPermitted(tree, new Set(tables.map(({ name }) => name)));
  const names = statement.text === statement.query ? namesOf(tree) : undefined;
  using query = await session.prepare(statement.query);
  query.checkReads();
  const reads = new StatementReads({ session, source, tables }, tree, budget, signal);
  if (statement.text === statement.query) return named(await reads.run(query, readingSignal), names);
  using text = await session.prepare(statement.text); // EXPLAIN or DESCRIBE of the query.
  return await reads.run(text, readingSignal);
}

function named(rows: ResultRows, names: readonly (string | undefined)[] | undefined): ResultRows {
  if (names?.length !== rows.columns.length) return rows;
  return { ...rows, columns: rows.columns.map((column, i) => ({ ...column, name: names[i] ?? column.name })) };
}
