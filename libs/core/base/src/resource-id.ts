/** Ids of deployments, subscriptions, schedules, event subscriptions and batches: a ULID in base 62, `dp_1…`, `sub_1…`, `sch_1…` (service-protocol.md §10.1). */
import { BASE62_CHARS_128, decodeBase62Of128, encodeBase62Of128 } from "./base62.js";
import {
  type BatchId,
  type DeploymentId,
  type EventSubscriptionId,
  frameProblem,
  type OperationId,
  type Parsed,
  refused,
  type ScheduleId,
  type SubscriptionId,
} from "./id-format.js";
import type { Random } from "./random.js";
import { writeUlid } from "./ulid.js";

const scratch = Buffer.alloc(16);

export function parseDeploymentId(text: string): Parsed<DeploymentId> {
  return parseUlidId<DeploymentId>(text, "dp");
}

export function parseSubscriptionId(text: string): Parsed<SubscriptionId> {
  return parseUlidId<SubscriptionId>(text, "sub");
}

export function newDeploymentId(nowMs: number, random: Random): DeploymentId {
  return newUlidId("dp", nowMs, random) as DeploymentId;
}

export function newSubscriptionId(nowMs: number, random: Random): SubscriptionId {
  return newUlidId("sub", nowMs, random) as SubscriptionId;
}

export function parseScheduleId(text: string): Parsed<ScheduleId> {
  return parseUlidId<ScheduleId>(text, "sch");
}

export function newScheduleId(nowMs: number, random: Random): ScheduleId {
  return newUlidId("sch", nowMs, random) as ScheduleId;
}

export function parseEventSubscriptionId(text: string): Parsed<EventSubscriptionId> {
  return parseUlidId<EventSubscriptionId>(text, "evs");
}

export function newEventSubscriptionId(nowMs: number, random: Random): EventSubscriptionId {
  return newUlidId("evs", nowMs, random) as EventSubscriptionId;
}

export function newBatchId(nowMs: number, random: Random): BatchId {
  return newUlidId("bat", nowMs, random) as BatchId;
}

export function parseBatchId(text: string): Parsed<BatchId> {
  return parseUlidId<BatchId>(text, "bat");
}

export function newOperationId(nowMs: number, random: Random): OperationId {
  return newUlidId("op", nowMs, random) as OperationId;
}

export function parseOperationId(text: string): Parsed<OperationId> {
  return parseUlidId<OperationId>(text, "op");
}

function newUlidId(prefix: string, nowMs: number, random: Random): string {
  writeUlid(scratch, 0, nowMs, random);
  return ulidIdFromRaw(prefix, scratch);
}

/** Text of 16 raw bytes. */
function ulidIdFromRaw(prefix: string, bytes: Uint8Array): string {
  const ascii = Buffer.alloc(BASE62_CHARS_128);
  encodeBase62Of128(bytes, 0, ascii, 0);
  return `${prefix}_1${ascii.toString("latin1")}`;
}

function parseUlidId<T extends string>(text: string, prefix: string): Parsed<T> {
  const problem = frameProblem(text, [prefix]);
  if (problem !== undefined) return refused(problem);
  const payloadAt = prefix.length + 2;
  if (text.length !== payloadAt + BASE62_CHARS_128) return refused("bad length");
  if (!decodeBase62Of128(text, payloadAt, scratch, 0)) return refused("base62 decode error");
  return { ok: true, value: text as T };
}
