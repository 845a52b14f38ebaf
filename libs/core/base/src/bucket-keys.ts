/**
 * Partition keys of plain services: their calls spread over 512 keys for each service (service-protocol.md §10.3). A key costs a native
 * hash of 0.4 µs, so each is cached after its first use.
 */
import { BoundedCache } from "./bounded-cache.js";
import { hashBucket, hashString } from "./hash.js";
import { BUCKET_CACHE_SERVICES_MAX } from "./limits.js";

/** Buckets of a plain service; part of the id scheme. */
export const BUCKET_COUNT = 512;

const KIND = "unscoped/service";
/** Keys by service: the high and low half of the key of bucket 0, of bucket 1, and so on; both halves are zero while not computed. */
const cache = new BoundedCache<string, Uint32Array>({ entriesMax: BUCKET_CACHE_SERVICES_MAX });

/** The bucket of an idempotency key. */
export function bucketOf(idempotencyKey: string): number {
  return Number(hashString(idempotencyKey) & BigInt(BUCKET_COUNT - 1));
}

/** Writes the partition key of a bucket (0…511) of a service into `out`, 8 bytes, big-endian. */
export function writeBucketKey(service: string, bucket: number, out: Buffer): void {
  const keys = cache.peek(service) ?? remember(service);
  let high = keys[2 * bucket]!;
  let low = keys[2 * bucket + 1]!;
  if (high === 0 && low === 0) {
    const key = hashBucket(service, KIND, bucket);
    high = Number(key >> 32n);
    low = Number(key & 0xffff_ffffn);
    keys[2 * bucket] = high;
    keys[2 * bucket + 1] = low;
  }
  out.writeUInt32BE(high, 0);
  out.writeUInt32BE(low, 4);
}

function remember(service: string): Uint32Array {
  // Names come from registered services, but also from look-ups of arbitrary names.
  const keys = new Uint32Array(2 * BUCKET_COUNT);
  cache.set(service, keys);
  return keys;
}
