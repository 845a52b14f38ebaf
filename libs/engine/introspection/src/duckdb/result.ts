/** Converts the engine's columns to the types of results (introspection-sql.md §3 and §5.3). */

import { setImmediate as nextTurn } from "node:timers/promises";
import {
  DuckDBBigIntVector,
  DuckDBBlobVector,
  DuckDBBooleanVector,
  DuckDBDateVector,
  DuckDBDecimal16Vector,
  DuckDBDecimal32Vector,
  DuckDBDecimal64Vector,
  DuckDBDecimal128Vector,
  DuckDBDoubleVector,
  DuckDBFloatVector,
  DuckDBHugeIntVector,
  DuckDBIntegerVector,
  type DuckDBIntervalValue,
  DuckDBIntervalVector,
  DuckDBListVector,
  type DuckDBMaterializedResult,
  DuckDBSmallIntVector,
  DuckDBTimestampMillisecondsVector,
  DuckDBTimestampNanosecondsVector,
  DuckDBTimestampSecondsVector,
  DuckDBTimestampTZVector,
  DuckDBTimestampVector,
  DuckDBTinyIntVector,
  type DuckDBType,
  DuckDBTypeId,
  DuckDBUBigIntVector,
  DuckDBUHugeIntVector,
  DuckDBUIntegerVector,
  DuckDBUSmallIntVector,
  DuckDBUTinyIntVector,
  type DuckDBValue,
  DuckDBVector,
} from "@duckdb/node-api";
import { invariant, present } from "@perdure/base";
import type {
  ColumnValues,
  ItemRange,
  ResultBatch,
  ResultColumn,
  ResultRows,
  ResultType,
  ScalarColumnValues,
  ScalarKind,
  ScalarValue,
} from "../encode/result.js";
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
  readers: readonly VectorReader[],
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
      const rows = Array.from({ length: Math.min(turn, chunk.rowCount - start) }, (_, row) => start + row);
      const values = columns.map(({ name }, i) => {
        const read = present(readers[i]).read(chunk.getColumnVector(i), rows);
        checkSizes(read, name, before + start);
        return read;
      });
      yield { rowCount: rows.length, columns: values };
    }
    before += chunk.rowCount;
  }
}

function checkSizes({ kind, values }: ColumnValues, column: string, before: number): void {
  if (kind !== "text" && kind !== "bytes") return;
  for (let i = 0; i < values.length; i++) {
    const sizeBytes = largeSizeOf(values[i] ?? "");
    if (sizeBytes > CELL_BYTES_MAX) throw new ValueTooLarge(`column ${column} of the result in row ${before + i + 1}`, sizeBytes);
  }
}

/** Bytes of a large value; 0 for others. */
function largeSizeOf(value: string | Uint8Array): number {
  if (typeof value !== "string") return value.length;
  return value.length * 3 > CELL_BYTES_MAX ? Buffer.byteLength(value) : 0;
}

/** Reads the engine's vectors of one type. */
interface VectorReader<Column = ColumnValues> {
  readonly type: ResultType;
  read(vector: DuckDBVector, rows: readonly number[]): Column;
}

function readerOf(type: DuckDBType): VectorReader {
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
      return scalar("bool", DuckDBBooleanVector, (value) => value);
    case DuckDBTypeId.UTINYINT:
      return scalar("uint32", DuckDBUTinyIntVector, (value) => value);
    case DuckDBTypeId.USMALLINT:
      return scalar("uint32", DuckDBUSmallIntVector, (value) => value);
    case DuckDBTypeId.UINTEGER:
      return scalar("uint32", DuckDBUIntegerVector, (value) => value);
    case DuckDBTypeId.TINYINT:
      return scalar("int64", DuckDBTinyIntVector, BigInt);
    case DuckDBTypeId.SMALLINT:
      return scalar("int64", DuckDBSmallIntVector, BigInt);
    case DuckDBTypeId.INTEGER: // Literals: 64 bits to the reference, and to clients that read counts.
      return scalar("int64", DuckDBIntegerVector, BigInt);
    case DuckDBTypeId.BIGINT:
      return scalar("int64", DuckDBBigIntVector, (value) => value);
    case DuckDBTypeId.HUGEINT: // Sums of 64-bit integers.
      return scalar("int64", DuckDBHugeIntVector, within64Bits);
    case DuckDBTypeId.UHUGEINT:
      return scalar("int64", DuckDBUHugeIntVector, within64Bits);
    case DuckDBTypeId.UBIGINT:
      return scalar("uint64", DuckDBUBigIntVector, (value) => value);
    case DuckDBTypeId.FLOAT:
      return scalar("float64", DuckDBFloatVector, (value) => value);
    case DuckDBTypeId.DOUBLE:
      return scalar("float64", DuckDBDoubleVector, (value) => value);
    case DuckDBTypeId.DECIMAL:
      return scalar("float64", decimalVector(type.width), (value) => value.toDouble());
    case DuckDBTypeId.BLOB:
      return scalar("bytes", DuckDBBlobVector, ({ bytes }) => bytes);
    case DuckDBTypeId.TIMESTAMP_TZ:
      return scalar("instant", DuckDBTimestampTZVector, ({ micros }) => floorDiv(micros, 1000n));
    case DuckDBTypeId.TIMESTAMP:
      return scalar("wallTime", DuckDBTimestampVector, ({ micros }) => micros * 1000n);
    case DuckDBTypeId.TIMESTAMP_MS:
      return scalar("wallTime", DuckDBTimestampMillisecondsVector, ({ millis }) => millis * 1_000_000n);
    case DuckDBTypeId.TIMESTAMP_NS:
      return scalar("wallTime", DuckDBTimestampNanosecondsVector, ({ nanos }) => nanos);
    case DuckDBTypeId.TIMESTAMP_S:
      return scalar("wallTime", DuckDBTimestampSecondsVector, ({ seconds }) => seconds * 1_000_000_000n);
    case DuckDBTypeId.DATE:
      return scalar("date", DuckDBDateVector, ({ days }) => days);
    case DuckDBTypeId.INTERVAL:
      return scalar("duration", DuckDBIntervalVector, intervalMs);
    case DuckDBTypeId.SQLNULL:
      return { type: { kind: "null" }, read: (_vector, rows) => ({ kind: "null", values: rows.map(() => null) }) };
    case DuckDBTypeId.LIST:
      return list(readerOf(type.valueType));
    default:
      return scalar("text", DuckDBVector, String);
  }
}

/** Of the smallest integers that hold this number of digits. */
function decimalVector(digits: number) {
  if (digits <= 4) return DuckDBDecimal16Vector;
  if (digits <= 9) return DuckDBDecimal32Vector;
  return digits <= 18 ? DuckDBDecimal64Vector : DuckDBDecimal128Vector;
}

type VectorClass<Value extends DuckDBValue> = abstract new (...parts: never[]) => DuckDBVector<Value>;

function isOf<Value extends DuckDBValue>(vectorClass: VectorClass<Value>, vector: DuckDBVector): vector is DuckDBVector<Value> {
  return vector instanceof vectorClass;
}

function scalar<Kind extends ScalarKind, Value extends DuckDBValue>(
  kind: Kind,
  vectorClass: VectorClass<Value>,
  convert: (value: Value) => ScalarValue<Kind>,
): VectorReader<ScalarColumnValues<Kind>> {
  return {
    type: { kind },
    read(vector, rows) {
      invariant(isOf(vectorClass, vector), "the vector of a column has the column's type");
      const values = rows.map((row) => {
        const value = vector.getItem(row);
        return value === null ? null : convert(value);
      });
      return { kind, values };
    },
  };
}

function list(items: VectorReader): VectorReader {
  return {
    type: { kind: "list", items: items.type },
    read(vector, rows) {
      invariant(vector instanceof DuckDBListVector, "the vector of a column has the column's type");
      const itemRows: number[] = [];
      const values = rows.map((row): ItemRange | null => {
        if (vector.getItemVector(row) === null) return null;
        const start = itemRows.length;
        const first = vector.getEntryOffset(row);
        const length = vector.getEntryLength(row);
        for (let item = first; item < first + length; item++) itemRows.push(item);
        return { start, end: itemRows.length };
      });
      return { kind: "list", values, items: items.read(vector.childVector, itemRows) };
    },
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
