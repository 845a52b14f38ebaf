/**
 * Ids of invocations. The id decides the partition and, with an idempotency key or a workflow key, lets a second submit find the first. Ids
 * must equal those of the reference byte for byte (service-protocol.md §10.3, §10.4), because clients store them and use them later. Raw
 * form: 8 bytes partition key, big-endian, then 16 bytes uuid.
 */
import { hash } from "node:crypto";
import { BASE62_CHARS_64, decodeBase62Of64, decodeBase62Of128, encodeBase62Of64, encodeBase62Of128 } from "./base62.js";
import { BUCKET_COUNT, bucketOf, writeBucketKey } from "./bucket-keys.js";
import { hashString } from "./hash.js";
import { frameProblem, type InvocationId, type Parsed, refused } from "./id-format.js";
import { invariant } from "./invariant.js";
import { PARTITION_COUNT_MAX, PREFERRED_DRAWS_MAX } from "./limits.js";
import type { Random } from "./random.js";
import { siphash13 } from "./siphash13.js";
import { writeUlid } from "./ulid.js";

/** The handler that an invocation calls. `key` is undefined for plain services; `scope` is the protocol-7 scope, if any. */
type TargetIdentity = { service: string; key: string | undefined; handler: string; scope?: string | undefined };

/** Partitions in which new invocations of plain services are to be. */
export interface PreferredPartitions {
  /** Number of partitions of the environment. */
  readonly partitionCount: number;
  has(partition: number): boolean;
}

export const INVOCATION_ID_RAW_BYTES = 24;
const TEXT_CHARS = 38;
const FRAME = "inv_1";
const UUID_AT = 8;
const TWO_32 = 4_294_967_296;
const MADE_CHECKED = "an InvocationId was checked when it was made";

/** Scratch of the functions below: none of them calls another user of it while its data is in use. */
const raw = Buffer.alloc(INVOCATION_ID_RAW_BYTES);
const ascii = Buffer.alloc(TEXT_CHARS);
ascii.write(FRAME, "latin1");
/** The id's length as a 64-bit number, then the id: the input of the hash that gives the random seed. */
const seedInput = new Uint8Array(8 + INVOCATION_ID_RAW_BYTES);
seedInput[0] = INVOCATION_ID_RAW_BYTES;

/** The text itself when it is an invocation id, else why not. */
export function parseInvocationId(text: string): Parsed<InvocationId> {
  if (text.length === TEXT_CHARS && text.startsWith(FRAME)) {
    return decodeInto(text, raw, 0) ? { ok: true, value: text as InvocationId } : refused("base62 decode error");
  }
  return refused(frameProblem(text, ["inv"]) ?? "bad length");
}

/** Id of 24 raw bytes: partition key (8, big-endian) and uuid (16). */
export function invocationIdFromRaw(bytes: Uint8Array): InvocationId {
  invariant(bytes.length === INVOCATION_ID_RAW_BYTES, "a raw invocation id has 24 bytes");
  encodeBase62Of64(bytes, 0, ascii, FRAME.length);
  encodeBase62Of128(bytes, UUID_AT, ascii, FRAME.length + BASE62_CHARS_64);
  return ascii.toString("latin1") as InvocationId;
}

/** The 24 raw bytes, in fresh memory. */
export function invocationIdToRaw(id: InvocationId): Uint8Array {
  const bytes = new Uint8Array(INVOCATION_ID_RAW_BYTES);
  invariant(decodeInto(id, bytes, 0), MADE_CHECKED);
  return bytes;
}

/** The unsigned 64-bit partition key of the id. */
export function partitionKeyOf(id: InvocationId): bigint {
  decodeKey(id);
  return raw.readBigUInt64BE(0);
}

/**
 * Returns which of `count` equal slices of the 64-bit range has the id's partition key: 0…count−1, like `partitionOfKey`, without BigInt.
 */
export function partitionOf(id: InvocationId, count: number): number {
  checkCount(count);
  decodeKey(id);
  return partitionOfRaw(count);
}

/** The same for the partition key in `raw`. */
function partitionOfRaw(count: number): number {
  const high = raw.readUInt32BE(0);
  const low = raw.readUInt32BE(4);
  // ⌊(high · 2³² + low) · count / 2⁶⁴⌋ in doubles: the products stay below 2⁵² because count is at most 2²⁰.
  return Math.floor((high * count + Math.floor((low * count) / TWO_32)) / TWO_32);
}

/** Returns which of `count` equal slices of the 64-bit range has the key: ⌊key · count / 2⁶⁴⌋. `count` is in 1…2²⁰. */
export function partitionOfKey(partitionKey: bigint, count: number): number {
  checkCount(count);
  return Number((BigInt.asUintN(64, partitionKey) * BigInt(count)) >> 64n);
}

/**
 * A fresh id for a target without idempotency key: partition key of its scope, key or a random bucket; the uuid is a ULID of `nowMs`. A
 * bucket is drawn until its partition is one of `preferred`, a bounded number of times, so that the id may be of another one.
 */
export function newInvocationId(
  target: TargetIdentity,
  nowMs: number,
  random: Random,
  preferred?: PreferredPartitions | undefined,
): InvocationId {
  const { scope, key, service } = target;
  if (scope !== undefined) putKey(hashString(scope));
  else if (key !== undefined) putKey(hashString(key));
  else {
    writeBucketKey(service, random.uint32() % BUCKET_COUNT, raw);
    if (preferred !== undefined) drawPreferred(service, random, preferred);
  }
  writeUlid(raw, UUID_AT, nowMs, random);
  return invocationIdFromRaw(raw);
}

/** Replaces the key in `raw` until its partition is preferred. */
function drawPreferred(service: string, random: Random, preferred: PreferredPartitions): void {
  const { partitionCount } = preferred;
  for (let draws = 1; draws < PREFERRED_DRAWS_MAX && !preferred.has(partitionOfRaw(partitionCount)); draws++)
    writeBucketKey(service, random.uint32() % BUCKET_COUNT, raw);
}

/** The one id of this target and idempotency key (the empty key is a key too). */
export function idempotentInvocationId(target: TargetIdentity, idempotencyKey: string): InvocationId {
  const { scope, key, service, handler } = target;
  if (scope !== undefined) putKey(hashString(scope));
  else if (key !== undefined) putKey(hashString(key));
  else writeBucketKey(service, bucketOf(idempotencyKey), raw);
  const scoped = scope === undefined ? "" : `${scope},`;
  const keyed = key === undefined ? "" : `${key},`;
  putDigest(`ik,${scoped}${service},${keyed}${handler},${idempotencyKey}`);
  return invocationIdFromRaw(raw);
}

/** The one id of this workflow's run. */
export function workflowInvocationId(service: string, key: string, scope?: string): InvocationId {
  putKey(hashString(scope ?? key));
  const scoped = scope === undefined ? "" : `${scope},`;
  putDigest(`wf,${scoped}${service},${key}`);
  return invocationIdFromRaw(raw);
}

/** A fresh id with the partition key of `source`: for restart-as-new. */
export function siblingInvocationId(source: InvocationId, nowMs: number, random: Random): InvocationId {
  decodeKey(source);
  writeUlid(raw, UUID_AT, nowMs, random);
  return invocationIdFromRaw(raw);
}

/** The one id of this text with the partition key of `source`. */
export function derivedInvocationId(source: InvocationId, text: string): InvocationId {
  decodeKey(source);
  putDigest(text);
  return invocationIdFromRaw(raw);
}

/** The unsigned 64-bit seed of an attempt's deterministic randomness: SipHash-1-3 of the id (service-protocol.md §10.6). */
export function randomSeedOf(id: InvocationId): bigint {
  invariant(decodeInto(id, seedInput, 8), MADE_CHECKED);
  return siphash13(seedInput);
}

function putKey(key: bigint): void {
  raw.writeBigUInt64BE(key, 0);
}

/**
 * Writes the first half of the SHA-256 of the text as the uuid. The digest is requested as text with one character per byte: as a Buffer it
 * costs three times as much.
 */
function putDigest(text: string): void {
  raw.write(hash("sha256", text, "binary"), UUID_AT, 16, "latin1");
}

function decodeInto(text: string, out: Uint8Array, at: number): boolean {
  return (
    decodeBase62Of64(text, FRAME.length, out, at) && decodeBase62Of128(text, FRAME.length + BASE62_CHARS_64, out, at + UUID_AT)
  );
}

function decodeKey(id: InvocationId): void {
  invariant(decodeBase62Of64(id, FRAME.length, raw, 0), MADE_CHECKED);
}

function checkCount(count: number): void {
  invariant(count >= 1 && count <= PARTITION_COUNT_MAX && Number.isInteger(count), "a partition count is in 1…2²⁰");
}
