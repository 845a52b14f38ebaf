/**
 * Encodes a result as an Arrow IPC stream, the default format of `POST /query` (introspection-sql.md §3.1). Buffers are filled here and
 * framed by apache-arrow, whose builders would be slower and lack some types.
 */

import { concatBytes, unreachable, utf8 } from "@perdure/base";
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
import type { CellValue, ResultRows, ResultType } from "./result.js";

export const ARROW_CONTENT_TYPE = "application/vnd.apache.arrow.stream";

/** Schema, one batch for each batch of rows, end-of-stream marker. */
export async function* encodeArrow({ columns, batches }: ResultRows): AsyncIterable<Uint8Array> {
  const fields = columns.map(({ name, type }) => new Field(name, arrowType(type), true));
  const schema = new Schema(fields);
  const writer = new CollectingWriter();
  writer.reset(undefined, schema);
  yield writer.take();
  for await (const { rowCount, values } of batches) {
    const children = columns.map(({ type }, i) => columnData(type, values[i] ?? []));
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
    const view = chunk as ArrayBufferView;
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
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
      return new TimestampMillisecond("+00:00");
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

function columnData(type: ResultType, values: readonly CellValue[]): Data {
  const common = { type: arrowType(type), length: values.length, ...validity(values) };
  switch (type.kind) {
    case "bool":
      return makeData({ ...common, type: common.type as Bool, data: bits(values, (value) => value === true) });
    case "uint32":
      return makeData({ ...common, type: common.type as Uint32, data: filled(new Uint32Array(values.length), values) });
    case "int64":
      return makeData({ ...common, type: common.type as Int64, data: filled(new BigInt64Array(values.length), values) });
    case "uint64":
      return makeData({ ...common, type: common.type as Uint64, data: filled(new BigUint64Array(values.length), values) });
    case "float64":
      return makeData({ ...common, type: common.type as Float64, data: filled(new Float64Array(values.length), values) });
    case "date":
      return makeData({ ...common, type: common.type as DateDay, data: filled(new Int32Array(values.length), values) });
    case "instant":
    case "wallTime":
      return makeData({
        ...common,
        type: common.type as TimestampMillisecond,
        data: filled(new BigInt64Array(values.length), values),
      });
    case "duration":
      return makeData({
        ...common,
        type: common.type as DurationMillisecond,
        data: filled(new BigInt64Array(values.length), values),
      });
    case "text":
    case "bytes":
      return makeData({ ...common, type: common.type as LargeUtf8, ...packed(values) });
    case "null":
      return makeData({ type: new Null(), length: values.length });
    case "list":
      return listData(type.items, values);
    default:
      return unreachable(type);
  }
}

function listData(items: ResultType, values: readonly CellValue[]): Data {
  const offsets = new Int32Array(values.length + 1);
  const flat: CellValue[] = [];
  for (let i = 0; i < values.length; i++) {
    const list = values[i] as readonly CellValue[] | null;
    if (list !== null) for (const item of list) flat.push(item);
    offsets[i + 1] = flat.length;
  }
  const type = arrowType({ kind: "list", items }) as List;
  return makeData({ type, length: values.length, ...validity(values), valueOffsets: offsets, child: columnData(items, flat) });
}

/** Empty when no value is null. */
function validity(values: readonly CellValue[]): { nullCount: number; nullBitmap?: Uint8Array } {
  let nullCount = 0;
  for (const value of values) if (value === null) nullCount++;
  return nullCount === 0 ? { nullCount } : { nullCount, nullBitmap: bits(values, (value) => value !== null) };
}

function bits(values: readonly CellValue[], isSet: (value: CellValue) => boolean): Uint8Array {
  const bytes = new Uint8Array((values.length + 7) >> 3);
  for (let i = 0; i < values.length; i++) {
    if (isSet(values[i] as CellValue)) bytes[i >> 3] = (bytes[i >> 3] as number) | (1 << (i & 7));
  }
  return bytes;
}

/** Nulls remain zero. */
function filled<T extends Uint32Array | Int32Array | Float64Array | BigInt64Array | BigUint64Array>(
  into: T,
  values: readonly CellValue[],
): T {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value !== null) into[i] = value as never;
  }
  return into;
}

function packed(values: readonly CellValue[]): { valueOffsets: BigInt64Array; data: Uint8Array } {
  const valueOffsets = new BigInt64Array(values.length + 1);
  const parts: Uint8Array[] = [];
  let end = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as string | Uint8Array | null;
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
