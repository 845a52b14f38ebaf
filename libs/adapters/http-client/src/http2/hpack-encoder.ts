/**
 * Encodes header blocks (RFC 7541). An encoder belongs to one connection. A field goes into the table when it is sent for the second time
 * within a while, so ids and signatures, which differ from request to request, displace nothing. Texts are sent without Huffman code:
 * those that are repeated are one byte each, and for the others its processor time costs more than its bytes.
 */
import { BoundedCache } from "@perdure/base";
import { ENTRY_OVERHEAD_BYTES, STATIC_TABLE } from "./hpack-tables.js";
import { HEADER_TABLE_BYTES } from "./protocol.js";

const INDEXED = 0x80;
const LITERAL_INDEXED = 0x40;
const LITERAL = 0x00;
const LITERAL_NEVER_INDEXED = 0x10;
const TABLE_SIZE = 0x20;

/** Fields that were sent once and are remembered; the oldest is dropped. */
const SENT_ONCE_MAX = 128;
/** A longer field would displace too many others. */
const INDEXED_BYTES_MAX = HEADER_TABLE_BYTES / 8;
/** Fields with credentials: no intermediary may put them into a table (RFC 7541 §7.1.3). */
const SECRETS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization", "x-restate-jwt-v1"]);

const staticNames = new Map<string, number>();
const staticFields = new Map<string, Map<string, number>>();
for (const [at, { name, value }] of STATIC_TABLE.entries()) {
  if (!staticNames.has(name)) staticNames.set(name, at + 1);
  if (value !== "") valuesOf(staticFields, name).set(value, at + 1);
}

function valuesOf(all: Map<string, Map<string, number>>, name: string): Map<string, number> {
  let values = all.get(name);
  if (values === undefined) {
    values = new Map();
    all.set(name, values);
  }
  return values;
}

interface Entry {
  readonly name: string;
  readonly value: string;
}

export class HpackEncoder {
  /** Number of each entry of the dynamic table, counted from the first one ever, by name and value. */
  readonly #numbers = new Map<string, Map<string, number>>();
  /** The entries of the dynamic table, the oldest first. */
  readonly #entries: Entry[] = [];
  /** Entries that there ever were. */
  #inserted = 0;
  #tableBytes = 0;
  #tableBytesMax = HEADER_TABLE_BYTES;
  /** The least size of the table since the last block, with which the next one begins; undefined: the size has not changed. */
  #leastTableBytesMax: number | undefined;
  readonly #sentOnce = new BoundedCache<string, true>({ entriesMax: SENT_ONCE_MAX });
  #out = Buffer.allocUnsafe(512);
  #end = 0;

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. */
  limitTable(bytes: number): void {
    const bytesMax = Math.min(bytes, HEADER_TABLE_BYTES);
    if (bytesMax === this.#tableBytesMax) return;
    this.#tableBytesMax = bytesMax;
    this.#leastTableBytesMax = Math.min(bytesMax, this.#leastTableBytesMax ?? bytesMax);
    this.#evict(bytesMax);
  }

  /**
   * Returns the block of the fields; it is valid until the next call.
   * @param fields names and values in turn, one byte for each character
   */
  encode(fields: readonly string[]): Uint8Array {
    this.#end = 0;
    if (this.#leastTableBytesMax !== undefined) this.#sizeUpdates(this.#leastTableBytesMax);
    for (let at = 0; at < fields.length; at += 2) this.#field(fields[at]!, fields[at + 1]!);
    return this.#out.subarray(0, this.#end);
  }

  /** A peer that made the table smaller in between expects that size, too (RFC 7541 §4.2). */
  #sizeUpdates(leastBytesMax: number): void {
    this.#leastTableBytesMax = undefined;
    this.#number(TABLE_SIZE, 5, leastBytesMax);
    if (leastBytesMax !== this.#tableBytesMax) this.#number(TABLE_SIZE, 5, this.#tableBytesMax);
  }

  #field(name: string, value: string): void {
    const bytes = name.length + value.length + ENTRY_OVERHEAD_BYTES;
    this.#reserve(bytes);
    const index = staticFields.get(name)?.get(value) ?? this.#indexOf(name, value);
    if (index !== undefined) return this.#number(INDEXED, 7, index);
    if (SECRETS.has(name)) return this.#literal(LITERAL_NEVER_INDEXED, 4, name, value);
    if (bytes > INDEXED_BYTES_MAX || bytes > this.#tableBytesMax || !this.#wasSentBefore(name, value))
      return this.#literal(LITERAL, 4, name, value);
    this.#literal(LITERAL_INDEXED, 6, name, value);
    this.#insert(name, value, bytes);
  }

  #indexOf(name: string, value: string): number | undefined {
    const number = this.#numbers.get(name)?.get(value);
    return number === undefined ? undefined : STATIC_TABLE.length + this.#inserted - number;
  }

  #wasSentBefore(name: string, value: string): boolean {
    const field = `${name}\n${value}`;
    if (this.#sentOnce.delete(field)) return true;
    this.#sentOnce.set(field, true);
    return false;
  }

  #insert(name: string, value: string, bytes: number): void {
    this.#evict(this.#tableBytesMax - bytes);
    this.#entries.push({ name, value });
    valuesOf(this.#numbers, name).set(value, this.#inserted++);
    this.#tableBytes += bytes;
  }

  #evict(bytesMax: number): void {
    while (this.#tableBytes > bytesMax) {
      const { name, value } = this.#entries.shift()!;
      this.#tableBytes -= name.length + value.length + ENTRY_OVERHEAD_BYTES;
      const values = this.#numbers.get(name)!;
      values.delete(value);
      if (values.size === 0) this.#numbers.delete(name);
    }
  }

  #literal(kind: number, prefixBits: number, name: string, value: string): void {
    const nameIndex = staticNames.get(name) ?? this.#nameIndex(name);
    this.#number(kind, prefixBits, nameIndex);
    if (nameIndex === 0) this.#text(name);
    this.#text(value);
  }

  #nameIndex(name: string): number {
    const numbers = this.#numbers.get(name);
    if (numbers === undefined) return 0;
    for (const number of numbers.values()) return STATIC_TABLE.length + this.#inserted - number;
    return 0;
  }

  #number(kind: number, prefixBits: number, value: number): void {
    const mask = 2 ** prefixBits - 1;
    if (value < mask) {
      this.#out[this.#end++] = kind | value;
      return;
    }
    this.#out[this.#end++] = kind | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#out[this.#end++] = (rest % 0x80) | 0x80;
    this.#out[this.#end++] = rest;
  }

  #text(text: string): void {
    this.#number(0, 7, text.length);
    this.#end += this.#out.write(text, this.#end, "latin1");
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#out.length) return;
    const out = Buffer.allocUnsafe(2 * (this.#end + bytes));
    this.#out.copy(out, 0, 0, this.#end);
    this.#out = out;
  }
}
