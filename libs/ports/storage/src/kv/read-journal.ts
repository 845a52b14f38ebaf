/** Reads a journal in pages of rows. */
import type { InvocationId } from "@perdure/base";
import type { JournalEntry } from "@perdure/state-machine";
import { decodeEntry } from "../codec/rows.js";
import { JournalBytes } from "../journal-too-large.js";
import type { KeyValue } from "./key-value.js";
import { entryKey } from "./keys.js";

/** Number of rows read at a time when a long journal is read back. */
const ROWS = 512;
/** With a bound of bytes, so many rows first: each can have as many bytes as a message may; then as many as fill a page. */
const BOUNDED_ROWS_FIRST = 4;
const BOUNDED_PAGE_BYTES = 4 * 1024 * 1024;

/** Returns the keys of the entries `from` (included) to `to` (excluded) of a journal. */
export function journalRowKeys(partition: number, id: InvocationId, from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, n) => entryKey(partition, id, from + n));
}

/** See `PartitionStore.readJournal`. */
export async function readJournal(
  kv: KeyValue,
  partition: number,
  id: InvocationId,
  length: number,
  bytesMax: number | undefined,
): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  const bytes = new JournalBytes(bytesMax);
  while (entries.length < length) {
    const from = entries.length;
    const to = Math.min(length, from + (bytesMax === undefined ? ROWS : boundedRows(from, bytes.read)));
    for (const row of await kv.getMany(journalRowKeys(partition, id, from, to))) {
      if (row === undefined) return entries;
      const entry = decodeEntry(row);
      bytes.add(entry.body);
      entries.push(entry);
    }
  }
  return entries;
}

/** Rows to read next, from the size of those that were read. */
function boundedRows(readRows: number, readBytes: number): number {
  if (readRows === 0) return BOUNDED_ROWS_FIRST;
  const average = Math.max(1, readBytes / readRows);
  return Math.min(ROWS, Math.max(1, Math.floor(BOUNDED_PAGE_BYTES / average)));
}
