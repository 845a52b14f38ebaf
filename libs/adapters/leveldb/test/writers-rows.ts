/** The rows that `writers.ts` writes, and checks of what is read. */
import { fromUtf8, utf8 } from "@perdure/base";
import type { KeyValue } from "@perdure/storage";

export const PARTITIONS = 6;
const LARGE_BYTES = 262_144;
/** Numbers of rows are scanned again by the byte that fills their values. */
const FILLS = 200;

export function rowOfBatch(partition: number, n: number): Uint8Array {
  const bytes = n % 3 === 0 ? LARGE_BYTES + ((n * 7919) % 40_000) : 10 + (n % 50);
  return new Uint8Array(bytes).fill((partition * 31 + n) % FILLS);
}

/** Throws when a row that is being replaced all the time is none of those that were written under its key. */
export function checkRow(key: string, row: Uint8Array | undefined): void {
  if (row === undefined) return;
  const fill = row[0] as number;
  if (Buffer.compare(row, Buffer.alloc(row.length, fill)) !== 0) throw new Error(`row ${key} has bytes of several rows`);
  for (let n = Number(key[2]); n < FILLS + 5; n += 5) if ((Number(key[0]) * 31 + n) % FILLS === fill) return;
  throw new Error(`row ${key} has the bytes of another`);
}

/** Checks the rows of one moment; returns the number of the latest batch, −1 when there is none. */
export async function checkPartition(kv: KeyValue, partition: number): Promise<number> {
  const n = Number(fromUtf8(kv.get(`${partition}n`) ?? utf8("-1")));
  const scanned = new Map<string, Uint8Array>();
  for await (const [key, row] of kv.scan(`${partition}k`, `${partition}l`)) scanned.set(key, row);
  const keys = [n - 2, n - 1, n].filter((each) => each >= 0).map((each) => [`${partition}k${each % 5}`, each] as const);
  if (scanned.size !== keys.length) throw new Error(`partition ${partition} has rows ${[...scanned.keys()]} after batch ${n}`);
  const many = await kv.getMany(keys.map(([key]) => key));
  for (const [index, [key, each]] of keys.entries()) {
    const expected = rowOfBatch(partition, each);
    for (const row of [scanned.get(key), many[index]])
      if (row === undefined || Buffer.compare(row, expected) !== 0) throw new Error(`row ${key} is not that of batch ${each}`);
  }
  return n;
}
