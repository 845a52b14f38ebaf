/**
 * Copies gathered columns into the engine's vectors as blocks, because the engine's own API takes one value at a time. The layout is the
 * one that its C interface documents (`duckdb_string_t`, `duckdb_interval`, validity masks).
 *
 * Texts: a vector keeps a 16-byte record for each row. Texts of up to 12 bytes are in the record itself; for longer ones the record has
 * the first four bytes and the address. All texts of a block are given to the vector as one text; its address, read from its record,
 * gives the addresses of all.
 */
import bindings from "@duckdb/node-bindings";
import { unreachable } from "@perdure/base";
import type { BigColumn, NumberColumn, TextColumn } from "../column.js";
import { ROWS_PER_VECTOR_MAX } from "../limits.js";

type Vector = ReturnType<typeof bindings.data_chunk_get_vector>;
/** Memory layouts of numbers in a vector. */
export const NUMBER_LAYOUTS = ["u32", "bool", "timestamp", "duration"] as const;
type NumberLayout = (typeof NUMBER_LAYOUTS)[number];

const RECORD_BYTES = 16;
const INLINE_BYTES = 12;
const TWO_32 = 4_294_967_296;
const MICROS_PER_MS = 1000;

/** Buffer in which blocks are built; the engine copies from it before the next block is started. */
const scratch = new ArrayBuffer(ROWS_PER_VECTOR_MAX * RECORD_BYTES);
const bytesView = new Uint8Array(scratch);
const uint32View = new Uint32Array(scratch);
const mask = new Uint8Array(ROWS_PER_VECTOR_MAX / 8);

/** Copies rows `from`…`from + count` of a column to the first rows of the vector. */
export function writeTexts(vector: Vector, column: TextColumn, from: number, count: number): void {
  const first = column.startOf(from);
  const last = column.startOf(from + count);
  let address = 0n;
  if (last - first > INLINE_BYTES) {
    bindings.vector_assign_string_element_len(vector, 0, column.data.subarray(first, last));
    const record = bindings.vector_get_data(vector, RECORD_BYTES);
    address = new DataView(record.buffer, record.byteOffset, RECORD_BYTES).getBigUint64(8, true);
  }
  const low = Number(address & 0xffff_ffffn);
  const high = Number(address >> 32n);
  const { data, ends } = column;
  let start = first;
  for (let row = 0; row < count; row++) {
    const end = ends[from + row] ?? start;
    const at = row * 4;
    const size = end - start;
    uint32View[at] = size;
    uint32View[at + 1] = 0;
    uint32View[at + 2] = 0;
    uint32View[at + 3] = 0;
    const prefix = size <= INLINE_BYTES ? size : 4;
    for (let i = 0; i < prefix; i++) bytesView[at * 4 + 4 + i] = data[start + i] ?? 0;
    if (size > INLINE_BYTES) {
      const offset = low + (start - first);
      uint32View[at + 2] = offset >>> 0;
      uint32View[at + 3] = high + (offset >= TWO_32 ? 1 : 0);
    }
    start = end;
  }
  bindings.copy_data_to_vector(vector, 0, scratch, 0, count * RECORD_BYTES);
  writeNulls(vector, column, from, count);
}

export function writeNumbers(vector: Vector, layout: NumberLayout, column: NumberColumn, from: number, count: number): void {
  const values = column.values.subarray(from, from + count);
  let at = 0;
  switch (layout) {
    case "u32":
      uint32View.set(values);
      bindings.copy_data_to_vector(vector, 0, scratch, 0, count * 4);
      break;
    case "bool":
      bytesView.set(values);
      bindings.copy_data_to_vector(vector, 0, scratch, 0, count);
      break;
    case "timestamp":
      for (const ms of values) {
        putMicros(at, ms);
        at += 2;
      }
      bindings.copy_data_to_vector(vector, 0, scratch, 0, count * 8);
      break;
    case "duration": // Months and days, then microseconds.
      for (const ms of values) {
        uint32View[at] = 0;
        uint32View[at + 1] = 0;
        putMicros(at + 2, ms);
        at += 4;
      }
      bindings.copy_data_to_vector(vector, 0, scratch, 0, count * 16);
      break;
    default:
      return unreachable(layout);
  }
  writeNulls(vector, column, from, count);
}

/** `ms` is a whole number of at most 53 bits, so the microseconds have at most 63. */
function putMicros(at: number, ms: number): void {
  // In two halves, because the product of a large time and 1000 exceeds the exact integers.
  const lowMs = ms % TWO_32;
  const lowMicros = lowMs * MICROS_PER_MS;
  uint32View[at] = lowMicros % TWO_32;
  uint32View[at + 1] = Math.floor(ms / TWO_32) * MICROS_PER_MS + Math.floor(lowMicros / TWO_32);
}

export function writeBigs(vector: Vector, column: BigColumn, from: number, count: number): void {
  const { values } = column;
  bindings.copy_data_to_vector(vector, 0, values.buffer, values.byteOffset + from * 8, count * 8);
  writeNulls(vector, column, from, count);
}

function writeNulls(vector: Vector, column: TextColumn | NumberColumn | BigColumn, from: number, count: number): void {
  if (!column.hasNulls) return;
  const bytes = Math.ceil(count / 64) * 8;
  if ((from & 7) === 0) {
    for (let i = 0; i < bytes; i++) mask[i] = ~column.nullBits(from + i * 8);
  } else {
    mask.fill(0xff, 0, bytes); // A vector with fewer rows came before.
    for (let row = 0; row < count; row++)
      if (column.isNull(from + row)) mask[row >> 3] = (mask[row >> 3] ?? 0) & ~(1 << (row & 7));
  }
  bindings.vector_ensure_validity_writable(vector);
  bindings.copy_data_to_vector_validity(vector, 0, mask.buffer, 0, bytes);
}
