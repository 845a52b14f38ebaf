/**
 * The stored form of an invocation: one status byte (so that scans can skip rows without decoding them), then protobuf fields. The
 * facts are a submessage that is encoded once per generation and copied from then on. Unknown fields are skipped on read.
 */
import { concatBytes, type DeploymentId, EMPTY_BYTES, invariant, PerdureError, ProtoReader, ProtoWriter } from "@perdure/base";
import { decodeFuture, encodeFuture } from "@perdure/service-protocol";
import type { Invocation, InvocationFacts, Outcome, Sink } from "@perdure/state-machine";
import type { RowBytes } from "../kv/key-value.js";
import { decodeFacts, encodeFacts } from "./facts.js";
import { decodeOutcome, writeOutcome } from "./outcome.js";
import { readSink, writeSink } from "./sink.js";

/**
 * Index: the first byte of a row. Inboxed invocations that wait for a lock and those that wait for a slot have different bytes, because
 * a new leader searches for the latter.
 */
const STATUSES: readonly Invocation["status"][] = [
  "scheduled",
  "inboxed",
  "invoked",
  "suspended",
  "paused",
  "completed",
  "ready",
  "inboxed",
];
const INVOKED = STATUSES.indexOf("invoked");
const READY = STATUSES.indexOf("ready");
const INBOXED_FOR_SLOT = STATUSES.lastIndexOf("inboxed");

const writer = new ProtoWriter();
const partWriter = new ProtoWriter();

/** Payloads from this size are separate parts of their rows. For smaller ones a copy costs next to nothing. */
export const PART_BYTES_MIN = 64 * 1024;
/** Field number of the value in the outcome of an invocation that succeeded. */
const RESULT_VALUE = 1;
/** Field number of the outcome of a completed invocation. */
const OUTCOME = 18;
const EMPTY_RESULT = new ProtoWriter().fork(OUTCOME).bytes(1, EMPTY_BYTES).join().finish();

/** Returns the status of a stored row without decoding it. */
export function statusOf(row: Uint8Array): Invocation["status"] | undefined {
  return STATUSES[row[0] ?? -1];
}

/** Whether a new leader must resume the stored invocation: it runs, or waits for a slot. */
export function isRecoverable(row: Uint8Array): boolean {
  const byte = row[0];
  return byte === INVOKED || byte === READY || byte === INBOXED_FOR_SLOT;
}

function statusByteOf(invocation: Invocation): Uint8Array {
  const { status } = invocation;
  const byte = status === "inboxed" && invocation.waitsFor === "slot" ? INBOXED_FOR_SLOT : STATUSES.indexOf(status);
  return STATUS_BYTES[byte] as Uint8Array;
}

export function encodeInvocation(invocation: Invocation): Uint8Array {
  const w = writeInvocation(invocation);
  if (invocation.status === "completed") writeOutcome(w, OUTCOME, invocation.outcome);
  return w.finish();
}

/** Like `encodeInvocation`, with a large result as a separate part. */
export function invocationRow(invocation: Invocation): RowBytes {
  if (invocation.status !== "completed" || invocation.outcome.kind !== "success") return encodeInvocation(invocation);
  const { value } = invocation.outcome;
  if (value.length < PART_BYTES_MIN) return encodeInvocation(invocation);
  const outcome = partWriter.reset().bytesHead(1, value.length).finish();
  const head = writeInvocation(invocation)
    .bytesHead(OUTCOME, outcome.length + value.length)
    .raw(outcome)
    .finish();
  return [head, value];
}

/** Returns the first part of a row with a large result as a row with an empty result; any other row as it is. */
export function withoutCutResult(row: Uint8Array): Uint8Array {
  const r = new ProtoReader(row, 1);
  while (r.hasMore()) {
    const at = r.pos;
    const tag = r.tag();
    if (tag >>> 3 !== OUTCOME) r.skip(tag & 7);
    else return r.uint32() > row.length - r.pos ? concatBytes(row.subarray(0, at), EMPTY_RESULT) : row;
  }
  return row;
}

/**
 * A row with a successful result, without the bytes of the result, in the form of the first part of a row with a large result; any other
 * row as it is.
 */
export function withoutResult(row: Uint8Array): Uint8Array {
  const r = new ProtoReader(row, 1);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 !== OUTCOME) {
      r.skip(tag & 7);
      continue;
    }
    const isLast = r.uint32() >= row.length - r.pos;
    if (!isLast || !r.hasMore() || r.tag() >>> 3 !== RESULT_VALUE || r.uint32() === 0) return row;
    return row.subarray(0, r.pos);
  }
  return row;
}

/** Writes all fields but the outcome, which comes last. */
function writeInvocation(invocation: Invocation): ProtoWriter {
  const { facts, journal, milestones, pinned } = invocation;
  facts.bytes ??= encodeFacts(facts);
  const w = writer.reset();
  w.raw(statusByteOf(invocation));
  w.bytes(1, facts.bytes);
  w.uint64(2, invocation.modifiedAtMs).uint64(3, invocation.run);
  if (pinned !== undefined) w.string(4, pinned.deploymentId).uint32(5, pinned.protocolVersion);
  w.uint32(6, journal.length)
    .uint32(7, journal.commands)
    .uint32(8, journal.notifications)
    .uint32(9, journal.outputIndex + 1);
  if (journal.hasEvents) w.bool(19, true);
  for (const sink of invocation.sinks) writeSink(w, 10, sink);
  if (milestones.scheduledAtMs !== undefined) w.uint64(11, milestones.scheduledAtMs);
  if (milestones.inboxedAtMs !== undefined) w.uint64(12, milestones.inboxedAtMs);
  if (milestones.runningAtMs !== undefined) w.uint64(13, milestones.runningAtMs);
  if (milestones.completedAtMs !== undefined) w.uint64(14, milestones.completedAtMs);
  if (milestones.moves !== undefined) w.bytes(21, milestones.moves);
  if (milestones.restoredAtMs !== undefined) w.uint64(22, milestones.restoredAtMs);
  switch (invocation.status) {
    case "inboxed":
      if (invocation.waitsFor === "lock") w.uint64(15, invocation.inboxSeq);
      break;
    case "ready":
      w.uint64(20, invocation.readyAtMs);
      break;
    case "invoked":
      if (invocation.pauseRequested) w.bool(16, true);
      break;
    case "suspended":
      w.bytes(17, encodeFuture(invocation.awaiting));
      break;
    case "completed":
    case "scheduled":
    case "paused":
      break;
  }
  return w;
}

const STATUS_BYTES = STATUSES.map((_, index) => Uint8Array.of(index));

export function decodeInvocation(row: Uint8Array): Invocation {
  const status = statusOf(row);
  const fields = readFields(row);
  const { facts } = fields;
  if (status === undefined)
    throw new PerdureError("STO0003", `an invocation is stored with status ${row[0]}, which this version does not support`);
  invariant(facts !== undefined, "a stored invocation has its facts");
  const { deploymentId, protocolVersion, length, commands, notifications, outputIndex, hasEvents } = fields;
  const { scheduledAtMs, inboxedAtMs, runningAtMs, completedAtMs, moves, restoredAtMs } = fields;
  const common = {
    facts,
    modifiedAtMs: fields.modifiedAtMs,
    run: fields.run,
    pinned: deploymentId === undefined ? undefined : { deploymentId, protocolVersion },
    journal: { length, commands, notifications, outputIndex, hasEvents },
    sinks: fields.sinks,
    milestones: { scheduledAtMs, inboxedAtMs, runningAtMs, completedAtMs, moves, restoredAtMs },
  };
  switch (status) {
    case "scheduled":
    case "paused":
      return { status, ...common };
    case "inboxed":
      return { status, ...common, waitsFor: row[0] === INBOXED_FOR_SLOT ? "slot" : "lock", inboxSeq: fields.inboxSeq };
    case "ready":
      return { status, ...common, readyAtMs: fields.readyAtMs };
    case "invoked":
      return { status, ...common, pauseRequested: fields.pauseRequested };
    case "suspended": {
      invariant(fields.future !== undefined, "a suspended invocation awaits something");
      return { status, ...common, awaiting: decodeFuture(fields.future) };
    }
    case "completed":
      invariant(fields.outcome !== undefined, "a completed invocation has an outcome");
      return { status, ...common, outcome: fields.outcome };
  }
}

/** The fields of a row; those that the row does not have are at their defaults. */
class StoredFields {
  facts: InvocationFacts | undefined = undefined;
  modifiedAtMs = 0;
  run = 0;
  deploymentId: DeploymentId | undefined = undefined;
  protocolVersion = 0;
  length = 0;
  commands = 0;
  notifications = 0;
  outputIndex = -1;
  hasEvents = false;
  readonly sinks: Sink[] = [];
  scheduledAtMs: number | undefined = undefined;
  inboxedAtMs: number | undefined = undefined;
  runningAtMs: number | undefined = undefined;
  completedAtMs: number | undefined = undefined;
  moves: Uint8Array | undefined = undefined;
  restoredAtMs: number | undefined = undefined;
  inboxSeq = 0;
  readyAtMs = 0;
  pauseRequested = false;
  future: Uint8Array | undefined = undefined;
  outcome: Outcome | undefined = undefined;
}

function readFields(row: Uint8Array): StoredFields {
  const r = new ProtoReader(row, 1);
  const fields = new StoredFields();
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        fields.facts = decodeFacts(r.bytes());
        break;
      case 2:
        fields.modifiedAtMs = r.uint64Number();
        break;
      case 3:
        fields.run = r.uint64Number();
        break;
      case 4:
        fields.deploymentId = r.string() as DeploymentId;
        break;
      case 5:
        fields.protocolVersion = r.uint32();
        break;
      case 6:
        fields.length = r.uint32();
        break;
      case 7:
        fields.commands = r.uint32();
        break;
      case 8:
        fields.notifications = r.uint32();
        break;
      case 9:
        fields.outputIndex = r.uint32() - 1;
        break;
      case 10:
        fields.sinks.push(readSink(r.bytes()));
        break;
      case 11:
        fields.scheduledAtMs = r.uint64Number();
        break;
      case 12:
        fields.inboxedAtMs = r.uint64Number();
        break;
      case 13:
        fields.runningAtMs = r.uint64Number();
        break;
      case 14:
        fields.completedAtMs = r.uint64Number();
        break;
      case 15:
        fields.inboxSeq = r.uint64Number();
        break;
      case 16:
        fields.pauseRequested = r.bool();
        break;
      case 17:
        fields.future = r.bytes();
        break;
      case OUTCOME:
        fields.outcome = decodeOutcome(r.bytes());
        break;
      case 19:
        fields.hasEvents = r.bool();
        break;
      case 20:
        fields.readyAtMs = r.uint64Number();
        break;
      case 21:
        fields.moves = r.bytes();
        break;
      case 22:
        fields.restoredAtMs = r.uint64Number();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  return fields;
}
