/**
 * Ids of virtual queues. The id is derived from the identity of the queue and contains its partition: callers pause queues by it, and
 * introspection joins on it. Same body as an invocation's: the partition key (8 bytes, big-endian: of the scope, or of the object's key),
 * then 16 bytes of hash.
 */
import { hash } from "node:crypto";
import {
  BASE62_CHARS_64,
  BASE62_CHARS_128,
  decodeBase62Of64,
  decodeBase62Of128,
  encodeBase62Of64,
  encodeBase62Of128,
} from "./base62.js";
import { hashString } from "./hash.js";
import { frameProblem, type Parsed, refused, type VqueueId } from "./id-format.js";
import { invariant } from "./invariant.js";
import { partitionOfKey } from "./invocation-id.js";

/**
 * Identity of a queue. With a scope: the calls of one service with the same limit key (or none), whatever workflow key they have. Without a
 * scope: the calls that share the lock of one object.
 */
export type VqueueIdentity =
  | { readonly service: string; readonly scope: string; readonly limitKey: string | undefined; readonly lockKey: undefined }
  | { readonly service: string; readonly scope: undefined; readonly limitKey: undefined; readonly lockKey: string };

const FRAME = "vq_1";
const HASH_AT = 8;
const RAW_BYTES = 24;
const TEXT_CHARS = FRAME.length + BASE62_CHARS_64 + BASE62_CHARS_128;
const MADE_CHECKED = "a VqueueId was checked when it was made";

const raw = Buffer.alloc(RAW_BYTES);
const ascii = Buffer.alloc(TEXT_CHARS);
ascii.write(FRAME, "latin1");

/** The one id of the queue: `vq_1…`, 37 characters. */
export function vqueueId(queue: VqueueIdentity): VqueueId {
  raw.writeBigUInt64BE(hashString(queue.scope ?? queue.lockKey), 0);
  // Neither a scope, a limit key nor a service name contains a comma, so two queues never give the same text.
  const text =
    queue.scope === undefined
      ? `vq,lock,${queue.service},${queue.lockKey}`
      : `vq,scope,${queue.scope},${queue.service},${queue.limitKey ?? ""}`;
  raw.write(hash("sha256", text, "binary"), HASH_AT, 16, "latin1");
  encodeBase62Of64(raw, 0, ascii, FRAME.length);
  encodeBase62Of128(raw, HASH_AT, ascii, FRAME.length + BASE62_CHARS_64);
  return ascii.toString("latin1") as VqueueId;
}

/** The text itself when it has the form of a queue's id, else the reason why not. */
export function parseVqueueId(text: string): Parsed<VqueueId> {
  const problem = frameProblem(text, ["vq"]);
  if (problem !== undefined) return refused(problem);
  if (text.length !== TEXT_CHARS) return refused("bad length");
  const isWhole =
    decodeBase62Of64(text, FRAME.length, raw, 0) && decodeBase62Of128(text, FRAME.length + BASE62_CHARS_64, raw, HASH_AT);
  return isWhole ? { ok: true, value: text as VqueueId } : refused("base62 decode error");
}

/** The unsigned 64-bit partition key of the queue. */
export function partitionKeyOfVqueue(id: VqueueId): bigint {
  invariant(decodeBase62Of64(id, FRAME.length, raw, 0), MADE_CHECKED);
  return raw.readBigUInt64BE(0);
}

/** The partition of the queue, of `count` partitions. */
export function partitionOfVqueue(id: VqueueId, count: number): number {
  return partitionOfKey(partitionKeyOfVqueue(id), count);
}
