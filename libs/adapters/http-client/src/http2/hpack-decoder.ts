/** Decodes header blocks (RFC 7541). A decoder belongs to one connection: each block may change its table. */
import { ENTRY_OVERHEAD_BYTES, type HeaderField, STATIC_TABLE } from "./hpack-tables.js";
import { huffmanText } from "./huffman.js";
import { ErrorCode, HEADER_TABLE_BYTES, Http2ProtocolError } from "./protocol.js";

const INDEXED = 0x80;
const LITERAL_INDEXED = 0x40;
const TABLE_SIZE = 0x20;
/** Bits of a number after the first byte; more than four bytes are no index, length or size that a peer needs. */
const NUMBER_BITS_MAX = 28;
/** Evicted entries are removed from the list once so many have gathered. */
const EVICTED_MAX = 256;

export interface DecodedFields {
  readonly fields: readonly HeaderField[];
  /** The fields are longer than `bytesMax`, and some are left out. */
  readonly isTooLong: boolean;
}

export class HpackDecoder {
  readonly #bytesMax: number;
  /** The dynamic table; the newest entry is the last one, and those before `#oldest` are evicted. */
  #entries: HeaderField[] = [];
  #oldest = 0;
  #tableBytes = 0;
  #tableBytesMax = HEADER_TABLE_BYTES;
  /** The block that is being decoded, and the place of the next byte. */
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  /** The last block and its result. An endpoint answers most requests with the same block, which refers to the table only. */
  #lastBlock: Buffer | undefined;
  #lastFields: DecodedFields | undefined;

  /** @param bytesMax limit of the names and values of a block, each field with the overhead of an entry */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * The whole block is decoded also when it is too long, because the next one depends on it.
   * @throws Http2ProtocolError (COMPRESSION_ERROR) it is not a header block
   */
  decode(block: Buffer): DecodedFields {
    if (this.#lastFields !== undefined && this.#lastBlock?.equals(block) === true) return this.#lastFields;
    this.#block = block;
    this.#at = 0;
    const fields: HeaderField[] = [];
    let bytes = 0;
    let changesTable = false;
    while (this.#at < block.length) {
      const first = block[this.#at]!;
      if ((first & INDEXED) === 0 && (first & LITERAL_INDEXED) === 0 && (first & TABLE_SIZE) !== 0) {
        if (fields.length > 0) throw broken("the size of the table changes after a field");
        changesTable = true;
        this.#resize(this.#number(5));
        continue;
      }
      changesTable ||= (first & INDEXED) === 0 && (first & LITERAL_INDEXED) !== 0;
      const field = this.#field(first);
      bytes += field.name.length + field.value.length + ENTRY_OVERHEAD_BYTES;
      if (bytes <= this.#bytesMax) fields.push(field);
    }
    const decoded = { fields, isTooLong: bytes > this.#bytesMax };
    this.#lastFields = changesTable ? undefined : decoded;
    this.#lastBlock = changesTable ? undefined : Buffer.from(block);
    return decoded;
  }

  #field(first: number): HeaderField {
    if ((first & INDEXED) !== 0) return this.#entry(this.#number(7));
    const isIndexed = (first & LITERAL_INDEXED) !== 0;
    const nameIndex = this.#number(isIndexed ? 6 : 4);
    const name = nameIndex === 0 ? this.#text() : this.#entry(nameIndex).name;
    const field = { name, value: this.#text() };
    if (isIndexed) this.#insert(field);
    return field;
  }

  #entry(index: number): HeaderField {
    const field =
      index <= STATIC_TABLE.length
        ? STATIC_TABLE[index - 1]
        : this.#entries[Math.max(this.#oldest - 1, this.#entries.length + STATIC_TABLE.length - index)];
    if (field === undefined || index > STATIC_TABLE.length + this.#entries.length - this.#oldest)
      throw broken(`there is no entry ${index}`);
    return field;
  }

  #insert(field: HeaderField): void {
    const bytes = entryBytes(field);
    this.#evict(this.#tableBytesMax - bytes);
    if (bytes > this.#tableBytesMax) return; // The table is empty now (RFC 7541 §4.4).
    this.#entries.push(field);
    this.#tableBytes += bytes;
  }

  #resize(bytesMax: number): void {
    if (bytesMax > HEADER_TABLE_BYTES) throw broken(`the table would have ${bytesMax} bytes`);
    this.#tableBytesMax = bytesMax;
    this.#evict(bytesMax);
  }

  /** Removes the oldest entries until the others have so many bytes. */
  #evict(bytesMax: number): void {
    while (this.#oldest < this.#entries.length && this.#tableBytes > bytesMax)
      this.#tableBytes -= entryBytes(this.#entries[this.#oldest++]!);
    if (this.#oldest < EVICTED_MAX) return;
    this.#entries = this.#entries.slice(this.#oldest);
    this.#oldest = 0;
  }

  /** A number whose first bits are the last ones of the next byte (RFC 7541 §5.1). */
  #number(prefixBits: number): number {
    const mask = 2 ** prefixBits - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      if (shift >= NUMBER_BITS_MAX) throw broken("a number is too long");
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  #text(): string {
    const isHuffman = (this.#block[this.#at] ?? 0) >= 0x80;
    const length = this.#number(7);
    const from = this.#at;
    const end = from + length;
    if (end > this.#block.length) throw broken("a text is longer than its block");
    this.#at = end;
    if (!isHuffman) return this.#block.toString("latin1", from, end);
    const text = huffmanText(this.#block, from, end);
    if (text === undefined) throw broken("a text is not Huffman code");
    return text;
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw broken("a block ends within a field");
    return byte;
  }
}

function entryBytes({ name, value }: HeaderField): number {
  return name.length + value.length + ENTRY_OVERHEAD_BYTES;
}

function broken(message: string): Http2ProtocolError {
  return new Http2ProtocolError(ErrorCode.compressionError, message);
}
