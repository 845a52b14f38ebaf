/**
 * The stored form of an invocation: one status byte (so that scans can skip rows without decoding them), then protobuf fields. The
 * facts are a submessage that is encoded once per generation and copied from then on. Unknown fields are skipped on read.
 */
import {
  concatBytes,
  type DeploymentId,
  EMPTY_BYTES,
  type InvocationId,
  invariant,
  PerdureError,
  ProtoReader,
  ProtoWriter,
  type SubscriptionId,
} from "@perdure/base";
import { decodeFuture, encodeFuture, type Failure } from "@perdure/service-protocol";
import {
  type HandlerType,
  type Invocation,
  type InvocationFacts,
  type JournalProgress,
  type Milestones,
  type Outcome,
  type Pinned,
  PRIORITY_DEFAULT,
  type ServiceType,
  type Sink,
  type Source,
  type Target,
} from "@perdure/state-machine";
import type { RowBytes } from "../kv/key-value.js";
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
const SERVICE_TYPES: readonly ServiceType[] = ["service", "virtualObject", "workflow"];
const HANDLER_TYPES: readonly HandlerType[] = ["exclusive", "shared", "workflow"];

const writer = new ProtoWriter();
const factsWriter = new ProtoWriter();
const partWriter = new ProtoWriter();

/** Payloads from this size are separate parts of their rows. For smaller ones a copy costs next to nothing. */
export const PART_BYTES_MIN = 64 * 1024;
/** Field number of the outcome of a completed invocation. */
const OUTCOME = 18;
const EMPTY_RESULT = new ProtoWriter().fork(OUTCOME).bytes(1, EMPTY_BYTES).join().finish();

/** Returns the status of a stored row without decoding it. */
export function statusOf(row: Uint8Array): Invocation["status"] | undefined {
  return STATUSES[row[0] as number];
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
  const r = new ProtoReader(row, 1);
  let facts: InvocationFacts | undefined;
  let modifiedAtMs = 0;
  let run = 0;
  let deploymentId: DeploymentId | undefined;
  let protocolVersion = 0;
  let length = 0;
  let commands = 0;
  let notifications = 0;
  let outputIndex = -1;
  let hasEvents = false;
  const sinks: Sink[] = [];
  let scheduledAtMs: number | undefined;
  let inboxedAtMs: number | undefined;
  let runningAtMs: number | undefined;
  let completedAtMs: number | undefined;
  let moves: Uint8Array | undefined;
  let inboxSeq = 0;
  let readyAtMs = 0;
  let pauseRequested = false;
  let future: Uint8Array | undefined;
  let outcome: Outcome | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        facts = decodeFacts(r.bytes());
        break;
      case 2:
        modifiedAtMs = r.uint64Number();
        break;
      case 3:
        run = r.uint64Number();
        break;
      case 4:
        deploymentId = r.string() as DeploymentId;
        break;
      case 5:
        protocolVersion = r.uint32();
        break;
      case 6:
        length = r.uint32();
        break;
      case 7:
        commands = r.uint32();
        break;
      case 8:
        notifications = r.uint32();
        break;
      case 9:
        outputIndex = r.uint32() - 1;
        break;
      case 10:
        sinks.push(readSink(r.bytes()));
        break;
      case 11:
        scheduledAtMs = r.uint64Number();
        break;
      case 12:
        inboxedAtMs = r.uint64Number();
        break;
      case 13:
        runningAtMs = r.uint64Number();
        break;
      case 14:
        completedAtMs = r.uint64Number();
        break;
      case 15:
        inboxSeq = r.uint64Number();
        break;
      case 16:
        pauseRequested = r.bool();
        break;
      case 17:
        future = r.bytes();
        break;
      case OUTCOME:
        outcome = decodeOutcome(r.bytes());
        break;
      case 19:
        hasEvents = r.bool();
        break;
      case 20:
        readyAtMs = r.uint64Number();
        break;
      case 21:
        moves = r.bytes();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  if (status === undefined)
    throw new PerdureError("STO0003", `an invocation is stored with status ${row[0]}, which this version does not support`);
  invariant(facts !== undefined, "a stored invocation has its facts");
  const pinned: Pinned | undefined = deploymentId === undefined ? undefined : { deploymentId, protocolVersion };
  const journal: JournalProgress = { length, commands, notifications, outputIndex, hasEvents };
  const milestones: Milestones = { scheduledAtMs, inboxedAtMs, runningAtMs, completedAtMs, moves };
  const common = { facts, modifiedAtMs, run, pinned, journal, sinks, milestones };
  switch (status) {
    case "scheduled":
    case "paused":
      return { status, ...common };
    case "inboxed":
      return { status, ...common, waitsFor: row[0] === INBOXED_FOR_SLOT ? "slot" : "lock", inboxSeq };
    case "ready":
      return { status, ...common, readyAtMs };
    case "invoked":
      return { status, ...common, pauseRequested };
    case "suspended": {
      invariant(future !== undefined, "a suspended invocation awaits something");
      return { status, ...common, awaiting: decodeFuture(future) };
    }
    case "completed":
      invariant(outcome !== undefined, "a completed invocation has an outcome");
      return { status, ...common, outcome };
  }
}

export function encodeFacts(facts: InvocationFacts): Uint8Array {
  const w = factsWriter.reset();
  w.string(1, facts.id);
  writeTarget(w, 2, facts.target);
  writeSource(w, facts.source);
  if (facts.idempotencyKey !== undefined) w.string(7, facts.idempotencyKey);
  w.uint64(8, facts.requestId).uint64(9, facts.createdAtMs);
  if (facts.executionTimeMs !== undefined) w.uint64(10, facts.executionTimeMs);
  w.uint64(11, facts.completionRetentionMs).uint64(12, facts.journalRetentionMs);
  if (facts.randomSeed !== undefined) w.uint64(13, facts.randomSeed);
  if (facts.limitKey !== undefined) w.string(16, facts.limitKey);
  if (facts.priority !== PRIORITY_DEFAULT) w.uint32(17, facts.priority);
  if (facts.trace !== undefined) {
    w.string(14, facts.trace.traceparent);
    if (facts.trace.tracestate !== undefined) w.string(15, facts.trace.tracestate);
  }
  return w.finish();
}

export function decodeFacts(bytes: Uint8Array): InvocationFacts {
  const r = new ProtoReader(bytes);
  let id = "" as InvocationId;
  let target: Target | undefined;
  let source: Source = INGRESS;
  let callerId: InvocationId | undefined;
  let idempotencyKey: string | undefined;
  let requestId = 0;
  let createdAtMs = 0;
  let executionTimeMs: number | undefined;
  let completionRetentionMs = 0;
  let journalRetentionMs = 0;
  let randomSeed: bigint | undefined;
  let traceparent: string | undefined;
  let tracestate: string | undefined;
  let limitKey: string | undefined;
  let priority = PRIORITY_DEFAULT;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        id = r.string() as InvocationId;
        break;
      case 2:
        target = decodeTarget(r.bytes());
        break;
      case 3:
        callerId = r.string() as InvocationId;
        break;
      case 4:
        invariant(callerId !== undefined, "a caller's target follows its id");
        source = { kind: "service", callerId, callerTarget: decodeTarget(r.bytes()) };
        break;
      case 5:
        source = { kind: "subscription", subscriptionId: r.string() as SubscriptionId };
        break;
      case 6:
        source = { kind: "restart", from: r.string() as InvocationId };
        break;
      case 7:
        idempotencyKey = r.string();
        break;
      case 8:
        requestId = r.uint64Number();
        break;
      case 9:
        createdAtMs = r.uint64Number();
        break;
      case 10:
        executionTimeMs = r.uint64Number();
        break;
      case 11:
        completionRetentionMs = r.uint64Number();
        break;
      case 12:
        journalRetentionMs = r.uint64Number();
        break;
      case 13:
        randomSeed = r.uint64();
        break;
      case 14:
        traceparent = r.string();
        break;
      case 15:
        tracestate = r.string();
        break;
      case 16:
        limitKey = r.string();
        break;
      case 17:
        priority = r.uint32();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  invariant(target !== undefined, "stored facts name a target");
  const trace = traceparent === undefined ? undefined : { traceparent, tracestate };
  return {
    id,
    target,
    source,
    idempotencyKey,
    limitKey,
    priority,
    requestId,
    createdAtMs,
    executionTimeMs,
    completionRetentionMs,
    journalRetentionMs,
    randomSeed,
    trace,
    bytes,
  };
}

const INGRESS: Source = Object.freeze({ kind: "ingress" });

function writeSource(w: ProtoWriter, source: Source): void {
  switch (source.kind) {
    case "ingress":
      return;
    case "service":
      w.string(3, source.callerId);
      return writeTarget(w, 4, source.callerTarget);
    case "subscription":
      w.string(5, source.subscriptionId);
      return;
    case "restart":
      w.string(6, source.from);
      return;
  }
}

function writeTarget(w: ProtoWriter, field: number, target: Target): void {
  w.fork(field).string(1, target.service);
  if (target.key !== undefined) w.string(2, target.key);
  w.string(3, target.handler)
    .uint32(4, SERVICE_TYPES.indexOf(target.serviceType))
    .uint32(5, HANDLER_TYPES.indexOf(target.handlerType));
  if (target.scope !== undefined) w.string(6, target.scope);
  w.join();
}

function decodeTarget(bytes: Uint8Array): Target {
  const r = new ProtoReader(bytes);
  let service = "";
  let key: string | undefined;
  let handler = "";
  let serviceType = 0;
  let handlerType = 0;
  let scope: string | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        service = r.string();
        break;
      case 2:
        key = r.string();
        break;
      case 3:
        handler = r.string();
        break;
      case 4:
        serviceType = r.uint32();
        break;
      case 5:
        handlerType = r.uint32();
        break;
      case 6:
        scope = r.string();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  return {
    scope,
    service,
    key,
    handler,
    serviceType: SERVICE_TYPES[serviceType] as ServiceType,
    handlerType: HANDLER_TYPES[handlerType] as HandlerType,
  };
}

/** `{1 value}` or `{2 code, 3 message, 4 metadata*, 5 stacktrace}`. */
export function writeOutcome(w: ProtoWriter, field: number, outcome: Outcome): void {
  w.fork(field);
  if (outcome.kind === "success") {
    w.bytes(1, outcome.value);
  } else {
    w.uint32(2, outcome.failure.code).string(3, outcome.failure.message);
    for (const { key, value } of outcome.failure.metadata) w.fork(4).string(1, key).string(2, value).join();
    if (outcome.stacktrace !== undefined) w.string(5, outcome.stacktrace);
  }
  w.join();
}

export function decodeOutcome(bytes: Uint8Array): Outcome {
  const r = new ProtoReader(bytes);
  let value: Uint8Array | undefined;
  let code = 0;
  let message = "";
  const metadata: { key: string; value: string }[] = [];
  let stacktrace: string | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        value = r.bytes();
        break;
      case 2:
        code = r.uint32();
        break;
      case 3:
        message = r.string();
        break;
      case 4:
        metadata.push(decodePair(r.bytes()));
        break;
      case 5:
        stacktrace = r.string();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  if (value !== undefined) return { kind: "success", value };
  const failure: Failure = { code, message, metadata };
  return { kind: "failure", failure, stacktrace };
}

function decodePair(bytes: Uint8Array): { key: string; value: string } {
  const r = new ProtoReader(bytes);
  let key = "";
  let value = "";
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) key = r.string();
    else if (tag >>> 3 === 2) value = r.string();
    else r.skip(tag & 7);
  }
  return { key, value };
}
