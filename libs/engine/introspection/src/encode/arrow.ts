/**
 * Encodes a result as an Arrow IPC stream, the default format of `POST /query` (introspection-sql.md §3.1). Buffers are filled here and
 * framed by apache-arrow, whose builders would be slower and lack some types.
 */

import { concatBytes, invariant, unreachable, utf8 } from "@perdure/base";
import {
  Bool,
  type Data,
  type DataType,
  DateDay,
  DurationMillisecond,
  Field,
  Float64,
  Int64,
  LargeBinary,
  LargeUtf8,
  List,
  makeData,
  Null,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMillisecond,
  TimestampNanosecond,
  Uint32,
  Uint64,
} from "apache-arrow";
import type { ColumnValues, ListColumnValues, ResultRows, ResultType } from "./result.js";

export const ARROW_CONTENT_TYPE = "application/vnd.apache.arrow.stream";

const UTC = "+00:00";

/** Schema, one batch for each batch of rows, end-of-stream marker. */
export async function* encodeArrow({ columns, batches }: ResultRows): AsyncIterable<Uint8Array> {
  const fields = columns.map(({ name, type }) => new Field(name, arrowType(type), true));
  const schema = new Schema(fields);
  const writer = new CollectingWriter();
  writer.reset(undefined, schema);
  yield writer.take();
  for await (const { rowCount, columns: values } of batches) {
    const children = values.map(columnData);
    const data = makeData({ type: new Struct(fields), length: rowCount, nullCount: 0, children });
    writer.write(new RecordBatch(schema, data));
    yield writer.take();
  }
  writer.finish();
  yield writer.take();
}

/** Sink that keeps what is written until `take`, instead of queueing it in a stream. */
class CollectingWriter extends RecordBatchStreamWriter {
  #parts: Uint8Array[] = [];

  /** Everything written since the last call. */
  take(): Uint8Array {
    const whole = concatBytes(...this.#parts);
    this.#parts = [];
    return whole;
  }

  protected override _write(chunk: Parameters<RecordBatchStreamWriter["_write"]>[0]): this {
    invariant(ArrayBuffer.isView(chunk), "a writer of record batches writes bytes");
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#parts.push(bytes);
    this._position += bytes.length;
    return this;
  }
}

function arrowType(type: ResultType): DataType {
  switch (type.kind) {
    case "bool":
      return new Bool();
    case "uint32":
      return new Uint32();
    case "int64":
      return new Int64();
    case "uint64":
      return new Uint64();
    case "float64":
      return new Float64();
    case "text":
      return new LargeUtf8();
    case "bytes":
      return new LargeBinary();
    case "instant":
      return new TimestampMillisecond(UTC);
    case "wallTime":
      return new TimestampNanosecond();
    case "date":
      return new DateDay();
    case "duration":
      return new DurationMillisecond();
    case "null":
      return new Null();
    case "list":
      return new List(new Field("item", arrowType(type.items), true));
    default:
      return unreachable(type);
  }
}

function columnData(column: ColumnValues): Data {
  const { length } = column.values;
  const common = { length, ...validity(column.values) };
  switch (column.kind) {
    case "bool":
      return makeData({ ...common, type: new Bool(), data: bits(column.values, (value) => value === true) });
    case "uint32":
      return makeData({ ...common, type: new Uint32(), data: filled(new Uint32Array(length), column.values) });
    case "int64":
      return makeData({ ...common, type: new Int64(), data: filled(new BigInt64Array(length), column.values) });
    case "uint64":
      return makeData({ ...common, type: new Uint64(), data: filled(new BigUint64Array(length), column.values) });
    case "float64":
      return makeData({ ...common, type: new Float64(), data: filled(new Float64Array(length), column.values) });
    case "date":
      return makeData({ ...common, type: new DateDay(), data: filled(new Int32Array(length), column.values) });
    case "instant": {
      const data = filled(new BigInt64Array(length), column.values);
      return makeData({ ...common, type: new TimestampMillisecond(UTC), data });
    }
    case "wallTime":
      return makeData({ ...common, type: new TimestampNanosecond(), data: filled(new BigInt64Array(length), column.values) });
    case "duration":
      return makeData({ ...common, type: new DurationMillisecond(), data: filled(new BigInt64Array(length), column.values) });
    case "text":
      return makeData({ ...common, type: new LargeUtf8(), ...packed(column.values) });
    case "bytes":
      return makeData({ ...common, type: new LargeBinary(), ...packed(column.values) });
    case "null":
      return makeData({ type: new Null(), length });
    case "list":
      return listData(column);
    default:
      return unreachable(column);
  }
}

function listData({ values, items }: ListColumnValues): Data {
  const offsets = new Int32Array(values.length + 1);
  let end = 0;
  for (let i = 0; i < values.length; i++) {
    end = values[i]?.end ?? end;
    offsets[i + 1] = end;
  }
  const child = columnData(items);
  const type = new List(new Field("item", child.type, true));
  return makeData({ type, length: values.length, ...validity(values), valueOffsets: offsets, child });
}

/** Empty when no value is null. */
function validity(values: readonly unknown[]): { nullCount: number; nullBitmap?: Uint8Array } {
  let nullCount = 0;
  for (const value of values) if (value === null) nullCount++;
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap: bits(values, (value) => value !== null) };
}

function bits<Value>(values: readonly Value[], isSet: (value: Value) => boolean): Uint8Array {
  const bytes = new Uint8Array((values.length + 7) >> 3);
  let i = 0;
  for (const value of values) {
    if (isSet(value)) bytes[i >> 3] = (bytes[i >> 3] ?? 0) | (1 << (i & 7));
    i++;
  }
  return bytes;
}

/** Nulls remain zero. */
function filled<Value, Into extends { [row: number]: Value }>(into: Into, values: readonly (Value | null)[]): Into {
  const rows: { [row: number]: Value } = into;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? null;
    if (value !== null) rows[i] = value;
  }
  return into;
}

function packed(values: readonly (string | Uint8Array | null)[]): { valueOffsets: BigInt64Array; data: Uint8Array } {
  const valueOffsets = new BigInt64Array(values.length + 1);
  const parts: Uint8Array[] = [];
  let end = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? null;
    if (value !== null) {
      const part = typeof value === "string" ? utf8(value) : value;
      parts.push(part);
      end += part.length;
    }
    valueOffsets[i + 1] = BigInt(end);
  }
  const data = new Uint8Array(end);
  let at = 0;
  for (const part of parts) {
    data.set(part, at);
    at += part.length;
  }
  return { valueOffsets, data };
}
