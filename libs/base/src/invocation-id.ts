/**
 * Why: the id of an invocation decides its partition and, with an idempotency key or a workflow key, makes a second submit
 * find the first. Ids must come out byte for byte as those of the reference (service-protocol.md §10.3, §10.4), because
 * clients store them and look them up later. Raw form: 8 bytes partition key, big-endian, then 16 bytes uuid.
 */
import { createHash } from "node:crypto";
import { BASE62_CHARS_64, decodeBase62, encodeBase62 } from "./base62.js";
import { hashParts, hashString } from "./hash.js";
import { frameProblem, type InvocationId, type Parsed, refused } from "./id-format.js";
import { invariant } from "./invariant.js";
import { PARTITION_COUNT_MAX } from "./limits.js";
import type { Random } from "./random.js";
import { siphash13 } from "./siphash13.js";

/** Whom an invocation is for. `key` is undefined for plain services; `scope` is the protocol-7 scope, if any. */
export type TargetIdentity = { service: string; key: string | undefined; handler: string; scope?: string | undefined };

export const INVOCATION_ID_RAW_BYTES = 24;
const TEXT_CHARS = 38;
const PAYLOAD_AT = 5; // Behind "inv_1".
const TWO_32 = 4_294_967_296;
/** Unkeyed targets spread over this many partition keys for each service. */
const BUCKET_COUNT = 512;
const UNSCOPED_SERVICE = "unscoped/service";

const raw = Buffer.alloc(INVOCATION_ID_RAW_BYTES);
const ascii = Buffer.alloc(TEXT_CHARS);
ascii.write("inv_1", "latin1");

export function parseInvocationId(text: string): Parsed<InvocationId> {
  const problem = frameProblem(text, ["inv"]);
  if (problem !== undefined) return refused(problem);
  if (text.length !== TEXT_CHARS) return refused("bad length");
  if (!decodeInto(text, raw)) return refused("base62 decode error");
  return { ok: true, value: text as InvocationId };
}

/** Id of 24 raw bytes: partition key (8, big-endian) and uuid (16). */
export function invocationIdFromRaw(bytes: Uint8Array): InvocationId {
  invariant(bytes.length === INVOCATION_ID_RAW_BYTES, "a raw invocation id has 24 bytes");
  encodeBase62(bytes, 0, 8, ascii, PAYLOAD_AT);
  encodeBase62(bytes, 8, 16, ascii, PAYLOAD_AT + BASE62_CHARS_64);
  return ascii.toString("latin1") as InvocationId;
}

/** The 24 raw bytes, in fresh memory. */
export function invocationIdToRaw(id: InvocationId): Uint8Array {
  const bytes = new Uint8Array(INVOCATION_ID_RAW_BYTES);
  invariant(decodeInto(id, bytes), "an InvocationId was checked when it was made");
  return bytes;
}

/** The unsigned 64-bit partition key of the id. */
export function partitionKeyOf(id: InvocationId): bigint {
  decodeKey(id);
  return raw.readBigUInt64BE(0);
}

/** Which of `count` equal slices of the 64-bit range the id's partition key falls in: 0…count−1. Same rule as `partitionOfKey`, without BigInt. */
export function partitionOf(id: InvocationId, count: number): number {
  checkCount(count);
  decodeKey(id);
  return sliceOf(raw.readUInt32BE(0), raw.readUInt32BE(4), count);
}

/** Which of `count` equal slices of the 64-bit range the key falls in: ⌊key · count / 2⁶⁴⌋. */
export function partitionOfKey(partitionKey: bigint, count: number): number {
  checkCount(count);
  return Number((BigInt.asUintN(64, partitionKey) * BigInt(count)) >> 64n);
}

/** A fresh id for a target without idempotency key: partition key of its scope, key or a random bucket; the uuid is a ULID of `nowMs`. */
export function newInvocationId(target: TargetIdentity, nowMs: number, random: Random): InvocationId {
  putPartitionKey(target.scope, target.key, target.service, undefined, random);
  putUlid(nowMs, random);
  return invocationIdFromRaw(raw);
}

/** The one id of this target and idempotency key. */
export function idempotentInvocationId(target: TargetIdentity, idempotencyKey: string): InvocationId {
  putPartitionKey(target.scope, target.key, target.service, idempotencyKey, undefined);
  const scope = target.scope === undefined ? "" : `${target.scope},`;
  const key = target.key === undefined ? "" : `${target.key},`;
  putDigest(`ik,${scope}${target.service},${key}${target.handler},${idempotencyKey}`);
  return invocationIdFromRaw(raw);
}

/** The one id of this workflow's run. */
export function workflowInvocationId(service: string, key: string, scope?: string): InvocationId {
  raw.writeBigUInt64BE(hashString(scope ?? key), 0);
  putDigest(`wf,${scope === undefined ? "" : `${scope},`}${service},${key}`);
  return invocationIdFromRaw(raw);
}

/** A fresh id in the partition of `source`: for restart-as-new. */
export function siblingInvocationId(source: InvocationId, nowMs: number, random: Random): InvocationId {
  decodeKey(source);
  putUlid(nowMs, random);
  return invocationIdFromRaw(raw);
}

/** The 64-bit seed of an attempt's deterministic randomness (§10.6). */
export function randomSeedOf(id: InvocationId): bigint {
  const input = new Uint8Array(8 + INVOCATION_ID_RAW_BYTES);
  input[0] = INVOCATION_ID_RAW_BYTES;
  decodeInto(id, input.subarray(8));
  return siphash13(input);
}

/** 48 bits of milliseconds and 80 random bits at `at`. */
export function writeUlid(bytes: Buffer, at: number, nowMs: number, random: Random): void {
  bytes.writeUIntBE(nowMs, at, 6);
  random.bytes(bytes.subarray(at + 6, at + 16));
}

function putUlid(nowMs: number, random: Random): void {
  writeUlid(raw, 8, nowMs, random);
}

function putPartitionKey(
  scope: string | undefined,
  key: string | undefined,
  service: string,
  idempotencyKey: string | undefined,
  random: Random | undefined,
): void {
  if (scope !== undefined) raw.writeBigUInt64BE(hashString(scope), 0);
  else if (key !== undefined) raw.writeBigUInt64BE(hashString(key), 0);
  else {
    const bucket =
      idempotencyKey !== undefined
        ? Number(hashString(idempotencyKey) & BigInt(BUCKET_COUNT - 1))
        : (random?.uint32() ?? 0) & (BUCKET_COUNT - 1);
    raw.writeBigUInt64BE(hashParts([service, UNSCOPED_SERVICE], bucket), 0);
  }
}

function putDigest(text: string): void {
  createHash("sha256").update(text, "utf8").digest().copy(raw, 8, 0, 16);
}

function decodeInto(text: string, out: Uint8Array): boolean {
  return decodeBase62(text, PAYLOAD_AT, 8, out, 0) && decodeBase62(text, PAYLOAD_AT + BASE62_CHARS_64, 16, out, 8);
}

function decodeKey(id: InvocationId): void {
  invariant(decodeBase62(id, PAYLOAD_AT, 8, raw, 0), "an InvocationId was checked when it was made");
}

/** ⌊(high · 2³² + low) · count / 2⁶⁴⌋ in doubles: products stay below 2⁵² because count is at most 2²⁰. */
function sliceOf(high: number, low: number, count: number): number {
  return Math.floor((high * count + Math.floor((low * count) / TWO_32)) / TWO_32);
}

function checkCount(count: number): void {
  invariant(count >= 1 && count <= PARTITION_COUNT_MAX && Number.isInteger(count), "a partition count is in 1…2²⁰");
}
