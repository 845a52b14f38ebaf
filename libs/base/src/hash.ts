/**
 * Why: partition keys are XXH3-64 (seed 0) of typed parts (service-protocol.md §10.3), and every program that computes
 * one must get the same. A string part is its UTF-8 bytes and one 0xFF; a u64 part is 8 little-endian bytes.
 */
import { xxh3 } from "@node-rs/xxhash";

/** Grown to the longest input seen; typical keys fit the first size. */
let scratch = Buffer.alloc(512);

/** Hash of one string part: the partition key of an object key or a scope. */
export function hashString(text: string): bigint {
  const end = putString(text, 0);
  return xxh3.xxh64(scratch.subarray(0, end));
}

/** Hash of string parts followed by one u64 (given as a safe integer). */
export function hashParts(strings: readonly string[], number: number): bigint {
  let end = 0;
  for (const text of strings) end = putString(text, end);
  reserve(end + 8);
  scratch.writeUInt32LE(number >>> 0, end);
  scratch.writeUInt32LE(Math.floor(number / 4_294_967_296), end + 4);
  return xxh3.xxh64(scratch.subarray(0, end + 8));
}

function putString(text: string, at: number): number {
  reserve(at + text.length * 3 + 1); // UTF-8 needs at most three bytes for a UTF-16 unit.
  const end = at + scratch.write(text, at, "utf8");
  scratch[end] = 0xff;
  return end + 1;
}

function reserve(size: number): void {
  if (size <= scratch.length) return;
  const larger = Buffer.alloc(size * 2);
  scratch.copy(larger);
  scratch = larger;
}
