/**
 * Partition keys: XXH3-64 (seed 0) of typed parts (service-protocol.md §10.3). Every program that computes one must get the same result. A
 * string part is its UTF-8 bytes and one 0xFF; a u64 part is 8 little-endian bytes.
 */
import { xxh3 } from "@node-rs/xxhash";
import { HASH_SCRATCH_BYTES } from "./limits.js";

const shared = Buffer.allocUnsafeSlow(HASH_SCRATCH_BYTES);

/** Hash of one string part: the partition key of an object key or of a scope. Unsigned 64 bits. */
export function hashString(text: string): bigint {
  const buffer = bufferFor(text.length * 3 + 1);
  return xxh3.xxh64(buffer.subarray(0, putString(buffer, text, 0)));
}

/** Hash of two string parts and a u64 (given as 32 bits): the partition key of a bucket of a service. Unsigned 64 bits. */
export function hashBucket(first: string, second: string, number: number): bigint {
  const buffer = bufferFor((first.length + second.length) * 3 + 10);
  const end = putString(buffer, second, putString(buffer, first, 0));
  buffer.writeUInt32LE(number, end);
  buffer.writeUInt32LE(0, end + 4);
  return xxh3.xxh64(buffer.subarray(0, end + 8));
}

/** The shared buffer, or a larger one for this call only: the memory for a huge key must not be retained. */
function bufferFor(size: number): Buffer {
  return size <= HASH_SCRATCH_BYTES ? shared : Buffer.allocUnsafeSlow(size);
}

/** UTF-8 needs at most three bytes for a UTF-16 unit, so callers can compute the size that they need. */
function putString(buffer: Buffer, text: string, at: number): number {
  const end = at + buffer.write(text, at, "utf8");
  buffer[end] = 0xff;
  return end + 1;
}
