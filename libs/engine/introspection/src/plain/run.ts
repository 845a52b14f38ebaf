/**
 * Runs plain queries (`parse.ts`) without the engine, which would take milliseconds to plan what reads a few rows. The rows are those that
 * the table's scan finds, in the engine's order and types.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { invariant, present } from "@perdure/base";
import { type AnyColumn, BigColumn, ListColumn, NumberColumn, TextColumn } from "../column.js";
import type { ColumnValues, ItemRange, ResultBatch, ResultRows, ResultType } from "../encode/result.js";
import { TooMuchData } from "../errors.js";
import { PLAIN_BYTES_MAX, rowsPerTurn, TOP_ROWS_MAX, tableCost } from "../limits.js";
import type { IntrospectionSource } from "../ports.js";
import { pushRows } from "../query/columns.js";
import { type GatherBudget, type GatheredTable, gather } from "../query/gather.js";
import type { ScanHints, TopHint } from "../query/hints.js";
import type { ColumnType } from "../table.js";
import type { OrderKey, PlainQuery } from "./parse.js";

/**
 * Undefined when the engine should run the query: it bounds the memory of all results that wait to be read. `signal` ends the run,
 * `readingSignal` the iteration over its rows.
 */
export async function runPlainQuery(
  query: PlainQuery,
  source: IntrospectionSource,
  budget: GatherBudget,
  signal: AbortSignal,
  readingSignal: AbortSignal,
): Promise<ResultRows | undefined> {
  const { table, columns, order, limit, countName } = query;
  if (countName !== undefined) {
    const { rowCount } = await gather(table, new Set(), source, hintsOf(query), budget, signal);
    return counted(countName, rowCount);
  }
  const isLarge = limit === undefined && query.filters.size === 0 && tableCost(table.name) > 1;
  const gathered = isLarge ? undefined : await gatheredRows(query, source, budget, signal);
  if (gathered === undefined) return undefined;
  const kept = keptRows(gathered, ordered(gathered, order).subarray(0, limit));
  if ([...kept.values()].reduce((bytes, column) => bytes + column.bytes, 0) > PLAIN_BYTES_MAX) return undefined;
  const rowCount = Math.min(gathered.rowCount, limit ?? gathered.rowCount);
  const shown = columns.map(({ index, name }) => {
    const { type } = present(table.columns[index]);
    return { name, type: RESULT_TYPES[type], read: readerOf(type, present(kept.get(index))) };
  });
  const batches = batchesOf(rowCount, shown, readingSignal);
  return { columns: shown.map(({ name, type }) => ({ name, type })), batches };
}

function counted(name: string, count: number): ResultRows {
  async function* batches(): AsyncIterable<ResultBatch> {
    yield { rowCount: 1, columns: [{ kind: "int64", values: [BigInt(count)] }] };
  }
  return { columns: [{ name, type: { kind: "int64" } }], batches: batches() };
}

/** Undefined when a result without a LIMIT is larger than it may be: the engine reads it again, which costs little beside its size. */
async function gatheredRows(
  query: PlainQuery,
  source: IntrospectionSource,
  budget: GatherBudget,
  signal: AbortSignal,
): Promise<GatheredTable | undefined> {
  const { table, columns, order, limit } = query;
  const needed = new Set([...columns, ...order].map(({ index }) => index));
  const bytesLeft = limit === undefined ? Math.min(PLAIN_BYTES_MAX, budget.bytesLeft) : budget.bytesLeft;
  try {
    return await gather(table, needed, source, hintsOf(query), { bytesLeft }, signal);
  } catch (cause) {
    if (cause instanceof TooMuchData && limit === undefined) return undefined;
    throw cause;
  }
}

/** These rows alone, in their order: a result should not hold the rows that it does not show. */
function keptRows({ columns }: GatheredTable, rows: Int32Array): ReadonlyMap<number, AnyColumn> {
  const kept = new Map<number, AnyColumn>();
  for (const [index, column] of columns) {
    const copy = emptyLike(column);
    pushRows(copy, column, rows);
    kept.set(index, copy);
  }
  return kept;
}

function emptyLike(column: AnyColumn): AnyColumn {
  if (column instanceof TextColumn) return new TextColumn();
  if (column instanceof BigColumn) return new BigColumn();
  return column instanceof ListColumn ? new ListColumn() : new NumberColumn();
}

function hintsOf({ filters, order, limit, table }: PlainQuery): ScanHints {
  const [first] = order;
  const isByTime = first !== undefined && table.columns[first.index]?.type === "timestamp";
  const top: TopHint | undefined =
    isByTime && limit !== undefined && limit <= TOP_ROWS_MAX
      ? { column: present(table.columns[first.index]).name, isDescending: first.isDescending, count: limit }
      : undefined;
  return { filters, limit: first === undefined ? limit : undefined, top, columns: undefined };
}

/** Row numbers in order: NULL is last ascending and first descending, as the engine is set up (`duckdb/setup.ts`). */
function ordered({ rowCount, columns }: GatheredTable, order: readonly OrderKey[]): Int32Array {
  const rows = Int32Array.from({ length: rowCount }, (_, row) => row);
  if (order.length === 0) return rows;
  const keys = order.map(({ index, isDescending }) => {
    const compare = comparison(present(columns.get(index)));
    return isDescending ? (one: number, other: number) => compare(other, one) : compare;
  });
  return rows.sort((one, other) => {
    for (const compare of keys) {
      const result = compare(one, other);
      if (result !== 0) return result;
    }
    return 0;
  });
}

/** Compares two rows of a column; NULL is greater than any value. */
function comparison(column: AnyColumn): (one: number, other: number) => number {
  const values = valuesComparison(column);
  if (!column.hasNulls) return values;
  return (one, other) => {
    const nulls = Number(column.isNull(one)) - Number(column.isNull(other));
    return nulls !== 0 || column.isNull(one) ? nulls : values(one, other);
  };
}

function valuesComparison(column: AnyColumn): (one: number, other: number) => number {
  if (column instanceof TextColumn) {
    const { data, ends } = column;
    const bytes = (row: number) => data.subarray(column.startOf(row), ends[row]);
    return (one, other) => Buffer.compare(bytes(one), bytes(other));
  }
  invariant(!(column instanceof ListColumn), "a plain query has no order by lists");
  const { values } = column;
  return (one, other) => {
    const [left, right] = [present(values[one]), present(values[other])];
    return left < right ? -1 : Number(left > right);
  };
}

const RESULT_TYPES: Readonly<Record<ColumnType, ResultType>> = {
  text: { kind: "text" },
  u32: { kind: "uint32" },
  u64: { kind: "uint64" },
  bool: { kind: "bool" },
  bytes: { kind: "bytes" },
  timestamp: { kind: "instant" },
  duration: { kind: "duration" },
  u32List: { kind: "list", items: { kind: "uint32" } },
  textList: { kind: "list", items: { kind: "text" } },
};

/** Reads rows of a column in the form that results have. */
type ColumnReader = (rows: readonly number[]) => ColumnValues;

function readerOf(type: ColumnType, column: AnyColumn): ColumnReader {
  if (column instanceof TextColumn) {
    if (type === "text") return (rows) => ({ kind: "text", values: valuesOf(column, rows, (row) => column.text(row)) });
    const bytes = (row: number) => column.data.slice(column.startOf(row), column.ends[row]);
    return (rows) => ({ kind: "bytes", values: valuesOf(column, rows, bytes) });
  }
  if (column instanceof ListColumn) return (rows) => listsOf(type, column, rows);
  if (column instanceof BigColumn) {
    return (rows) => ({ kind: "uint64", values: valuesOf(column, rows, (row) => present(column.values[row])) });
  }
  return numberReaderOf(type, column);
}

function numberReaderOf(type: ColumnType, column: NumberColumn): ColumnReader {
  const { values } = column;
  switch (type) {
    case "bool":
      return (rows) => ({ kind: "bool", values: valuesOf(column, rows, (row) => values[row] !== 0) });
    case "u32":
      return (rows) => ({ kind: "uint32", values: valuesOf(column, rows, (row) => present(values[row])) });
    default: {
      const kind = type === "timestamp" ? "instant" : "duration";
      return (rows) => ({ kind, values: valuesOf(column, rows, (row) => BigInt(present(values[row]))) });
    }
  }
}

function valuesOf<Value>(column: AnyColumn, rows: readonly number[], read: (row: number) => Value): readonly (Value | null)[] {
  return rows.map((row) => (column.isNull(row) ? null : read(row)));
}

function listsOf(type: ColumnType, column: ListColumn, rows: readonly number[]): ColumnValues {
  const items: (number | string)[] = [];
  const values = valuesOf(column, rows, (row): ItemRange => {
    const start = items.length;
    for (const item of column.values[row] ?? []) items.push(item);
    return { start, end: items.length };
  });
  if (type === "u32List") return { kind: "list", values, items: { kind: "uint32", values: items.map(Number) } };
  return { kind: "list", values, items: { kind: "text", values: items.map(String) } };
}

interface ShownColumn {
  readonly read: ColumnReader;
}

async function* batchesOf(rowCount: number, shown: readonly ShownColumn[], signal: AbortSignal): ResultRows["batches"] {
  const turn = rowsPerTurn(shown.length);
  for (let start = 0; start < rowCount; start += turn) {
    if (start > 0) await nextTurn();
    signal.throwIfAborted();
    const rows = Array.from({ length: Math.min(turn, rowCount - start) }, (_, row) => start + row);
    yield { rowCount: rows.length, columns: shown.map(({ read }) => read(rows)) };
  }
}
