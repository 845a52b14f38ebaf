/** Converts the engine's columns to the types of results (introspection-sql.md §3 and §5.3). */

import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type DuckDBBlobValue,
  type DuckDBDataChunk,
  type DuckDBDateValue,
  type DuckDBDecimalValue,
  type DuckDBIntervalValue,
  type DuckDBListType,
  type DuckDBListValue,
  type DuckDBMaterializedResult,
  type DuckDBTimestampMillisecondsValue,
  type DuckDBTimestampNanosecondsValue,
  type DuckDBTimestampSecondsValue,
  type DuckDBTimestampTZValue,
  type DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from "@duckdb/node-api";
import { present } from "@perdure/base";
import type { CellValue, ResultBatch, ResultColumn, ResultRows, ResultType } from "../encode/result.js";
import { ValueOutOfRange, ValueTooLarge } from "../errors.js";
import { CELL_BYTES_MAX, rowsPerTurn } from "../limits.js";

/** The result as typed batches. */
export function rowsOf(result: DuckDBMaterializedResult, signal: AbortSignal): ResultRows {
  const names = result.columnNames();
  const readers = result.columnTypes().map(readerOf);
  const columns = readers.map(({ type }, i) => ({ name: OTHER_NAMES[names[i] ?? ""] ?? names[i] ?? "", type }));
  return { columns, batches: batchesOf(result, columns, readers, signal) };
}

/** The engine's chunks in pieces that one turn of the event loop handles. */
async function* batchesOf(
  result: DuckDBMaterializedResult,
  columns: readonly ResultColumn[],
  readers: readonly ValueReader[],
  signal: AbortSignal,
): AsyncIterable<ResultBatch> {
  const turn = rowsPerTurn(readers.length);
  let before = 0;
  const { chunkCount } = result;
  for (let at = 0; at < chunkCount; at++) {
    signal.throwIfAborted();
    const chunk = result.getChunk(at); // Not `fetchChunk`, which passes through another thread twice for the smallest result.
    for (let start = 0; start < chunk.rowCount; start += turn) {
      if (at > 0 || start > 0) await nextTurn();
      const end = Math.min(start + turn, chunk.rowCount);
      const values = columns.map(({ name }, i) => {
        const read = columnValues(chunk, i, present(readers[i]), start, end);
        checkSizes(read, name, before + start);
        return read;
      });
      yield { rowCount: end - start, values };
    }
    before += chunk.rowCount;
  }
}

function columnValues(chunk: DuckDBDataChunk, index: number, { read }: ValueReader, start: number, end: number): CellValue[] {
  const vector = chunk.getColumnVector(index);
  const values: CellValue[] = [];
  for (let row = start; row < end; row++) {
    const value = vector.getItem(row);
    values.push(value === null ? null : read(value));
  }
  return values;
}

function checkSizes(values: readonly CellValue[], column: string, before: number): void {
  for (let i = 0; i < values.length; i++) {
    const sizeBytes = largeSizeOf(present(values[i]));
    if (sizeBytes > CELL_BYTES_MAX) throw new ValueTooLarge(`column ${column} of the result in row ${before + i + 1}`, sizeBytes);
  }
}

/** Bytes of a large value; 0 for others. */
function largeSizeOf(value: CellValue): number {
  if (value instanceof Uint8Array) return value.length;
  const isLarge = typeof value === "string" && value.length * 3 > CELL_BYTES_MAX;
  return isLarge ? Buffer.byteLength(value) : 0;
}

interface ValueReader {
  readonly type: ResultType;
  /** Never called with null. */
  read(value: DuckDBValue): CellValue;
}

function readerOf(type: DuckDBType): ValueReader {
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
      return { type: { kind: "bool" }, read: (value) => value as boolean };
    case DuckDBTypeId.UTINYINT:
    case DuckDBTypeId.USMALLINT:
    case DuckDBTypeId.UINTEGER:
      return { type: { kind: "uint32" }, read: (value) => value as number };
    case DuckDBTypeId.TINYINT:
    case DuckDBTypeId.SMALLINT:
    case DuckDBTypeId.INTEGER: // Literals: 64 bits to the reference, and to clients that read counts.
    case DuckDBTypeId.BIGINT:
      return { type: { kind: "int64" }, read: (value) => BigInt(value as number | bigint) };
    case DuckDBTypeId.HUGEINT: // Sums of 64-bit integers.
    case DuckDBTypeId.UHUGEINT:
      return { type: { kind: "int64" }, read: (value) => within64Bits(value as bigint) };
    case DuckDBTypeId.UBIGINT:
      return { type: { kind: "uint64" }, read: (value) => value as bigint };
    case DuckDBTypeId.FLOAT:
    case DuckDBTypeId.DOUBLE:
      return { type: { kind: "float64" }, read: (value) => value as number };
    case DuckDBTypeId.DECIMAL:
      return { type: { kind: "float64" }, read: (value) => (value as DuckDBDecimalValue).toDouble() };
    case DuckDBTypeId.BLOB:
      return { type: { kind: "bytes" }, read: (value) => (value as DuckDBBlobValue).bytes };
    case DuckDBTypeId.TIMESTAMP_TZ:
      return { type: { kind: "instant" }, read: (value) => floorDiv((value as DuckDBTimestampTZValue).micros, 1000n) };
    case DuckDBTypeId.TIMESTAMP:
      return { type: { kind: "wallTime" }, read: (value) => (value as DuckDBTimestampValue).micros * 1000n };
    case DuckDBTypeId.TIMESTAMP_MS:
      return { type: { kind: "wallTime" }, read: (value) => (value as DuckDBTimestampMillisecondsValue).millis * 1_000_000n };
    case DuckDBTypeId.TIMESTAMP_NS:
      return { type: { kind: "wallTime" }, read: (value) => (value as DuckDBTimestampNanosecondsValue).nanos };
    case DuckDBTypeId.TIMESTAMP_S:
      return { type: { kind: "wallTime" }, read: (value) => (value as DuckDBTimestampSecondsValue).seconds * 1_000_000_000n };
    case DuckDBTypeId.DATE:
      return { type: { kind: "date" }, read: (value) => (value as DuckDBDateValue).days };
    case DuckDBTypeId.INTERVAL:
      return { type: { kind: "duration" }, read: (value) => intervalMs(value as DuckDBIntervalValue) };
    case DuckDBTypeId.SQLNULL:
      return { type: { kind: "null" }, read: () => null };
    case DuckDBTypeId.LIST:
      return listReader(type as DuckDBListType);
    default:
      return { type: { kind: "text" }, read: (value) => String(value) };
  }
}

function listReader({ valueType }: DuckDBListType): ValueReader {
  const items = readerOf(valueType);
  return {
    type: { kind: "list", items: items.type },
    read: (value) => (value as DuckDBListValue).items.map((item) => (item === null ? null : items.read(item))),
  };
}

const INT64_MAX = 2n ** 63n - 1n;

function within64Bits(value: bigint): bigint {
  if (value > INT64_MAX || value < -INT64_MAX - 1n) throw new ValueOutOfRange(`${value} does not fit in 64 bits`);
  return value;
}

/** A month counts as 30 days. */
function intervalMs({ months, days, micros }: DuckDBIntervalValue): bigint {
  return (BigInt(months) * 30n + BigInt(days)) * 86_400_000n + floorDiv(micros, 1000n);
}

function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

/** Column names of EXPLAIN: the engine's, the reference's. */
const OTHER_NAMES: Readonly<Record<string, string>> = { explain_key: "plan_type", explain_value: "plan" };
