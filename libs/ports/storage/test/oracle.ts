/**
 * Encodes and decodes the stored forms with an independent codec: `@bufbuild/protobuf` with code generated from `proto/storage`. Our
 * values are converted to its messages here, field by field. It does not cover the status byte of invocations and the header of journal
 * entries, which are not protobuf.
 */
import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { fromBinaryString } from "@perdure/base";
import { encodeNotification, type Future } from "@perdure/service-protocol";
import type {
  ChangedEntry,
  InboxEntry,
  Invocation,
  InvocationFacts,
  JournalEvent,
  ObjectLock,
  Outcome,
  QueuePause,
  Sink,
  StateEditRecord,
  Target,
  UndoNote,
  UndoRecord,
  WorkflowPromise,
} from "@perdure/state-machine";
import { PRIORITY_DEFAULT } from "@perdure/state-machine";
import { EVENT_TYPE_NUMBERS } from "../src/codec/event-type.js";
import { encodeEntry, encodeInvocation, encodePromise, type OutboxCommand } from "../src/index.js";
import * as schemas from "./gen/v1/invocation_pb.js";
import { OutboxCommandKind, OutboxCommandSchema } from "./gen/v1/outbox_pb.js";
import * as rows from "./gen/v1/rows_pb.js";

/** A message of the other codec with the functions that read and write it. */
export interface OracleMessage {
  readonly bytes: Uint8Array;
  /** Returns `body` as the other codec decodes it. */
  reads(body: Uint8Array): unknown;
  readonly message: unknown;
}

function oracle<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): OracleMessage {
  const message: MessageShape<Desc> = create(schema, init);
  return { message, bytes: toBinary(schema, message), reads: (body) => fromBinary(schema, body) };
}

/** Leaves out fields that are undefined: the other codec takes presence from the key. */
function present<T extends object>(fields: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

const big = (n: number): bigint => BigInt(n);
const maybeBig = (n: number | undefined): bigint | undefined => (n === undefined ? undefined : BigInt(n));

const SERVICE_TYPES = {
  service: schemas.ServiceType.SERVICE,
  virtualObject: schemas.ServiceType.VIRTUAL_OBJECT,
  workflow: schemas.ServiceType.WORKFLOW,
} as const;
const HANDLER_TYPES = {
  exclusive: schemas.HandlerType.EXCLUSIVE,
  shared: schemas.HandlerType.SHARED,
  workflow: schemas.HandlerType.WORKFLOW,
} as const;
const SINK_KINDS = { call: schemas.SinkKind.CALL, attach: schemas.SinkKind.ATTACH } as const;
const COMBINATORS = {
  unknown: schemas.Combinator.UNKNOWN,
  firstCompleted: schemas.Combinator.FIRST_COMPLETED,
  allCompleted: schemas.Combinator.ALL_COMPLETED,
  firstSucceededOrAllFailed: schemas.Combinator.FIRST_SUCCEEDED_OR_ALL_FAILED,
  allSucceededOrFirstFailed: schemas.Combinator.ALL_SUCCEEDED_OR_FIRST_FAILED,
} as const;

function target({ service, key, handler, serviceType, handlerType, scope }: Target) {
  return present<MessageInitShape<typeof schemas.TargetSchema>>({
    service,
    key,
    handler,
    serviceType: SERVICE_TYPES[serviceType],
    handlerType: HANDLER_TYPES[handlerType],
    scope,
  });
}

function sink({ kind, callerId, completionId, callerGeneration }: Sink) {
  return present<MessageInitShape<typeof schemas.SinkSchema>>({
    kind: SINK_KINDS[kind],
    callerId,
    completionId,
    callerCreatedAtMs: maybeBig(callerGeneration),
  });
}

function outcome(value: Outcome): MessageInitShape<typeof schemas.OutcomeSchema> {
  if (value.kind === "success") return { value: value.value };
  const { code, message, metadata } = value.failure;
  const pairs = metadata.map(({ key, value: text }) => ({ key, value: text }));
  return present({ code, message, metadata: pairs, stacktrace: value.stacktrace });
}

function future(value: Future): MessageInitShape<typeof schemas.FutureSchema> {
  return {
    completions: [...value.completions],
    signalIndexes: [...value.signalIndexes],
    signalNames: [...value.signalNames],
    nested: value.nested.map(future),
    combinator: COMBINATORS[value.combinator],
  };
}

function facts(value: InvocationFacts): MessageInitShape<typeof schemas.InvocationFactsSchema> {
  const { source } = value;
  return present<MessageInitShape<typeof schemas.InvocationFactsSchema>>({
    id: value.id,
    target: target(value.target),
    callerId: source.kind === "service" ? source.callerId : undefined,
    callerTarget: source.kind === "service" ? target(source.callerTarget) : undefined,
    subscriptionId: source.kind === "subscription" ? source.subscriptionId : undefined,
    restartedFrom: source.kind === "restart" ? source.from : undefined,
    idempotencyKey: value.idempotencyKey,
    requestId: big(value.requestId),
    createdAtMs: big(value.createdAtMs),
    executionTimeMs: maybeBig(value.executionTimeMs),
    completionRetentionMs: big(value.completionRetentionMs),
    journalRetentionMs: big(value.journalRetentionMs),
    randomSeed: value.randomSeed,
    traceparent: value.trace?.traceparent,
    tracestate: value.trace?.tracestate,
    limitKey: value.limitKey,
    priority: value.priority === PRIORITY_DEFAULT ? undefined : value.priority,
    fork: value.fork === undefined ? undefined : { atEntry: value.fork.atEntry, editedSteps: [...value.fork.editedSteps] },
    debounce: value.debounce && { ...value.debounce, startByMs: big(value.debounce.startByMs) },
    event: value.event && present({ ...value.event, type: EVENT_TYPE_NUMBERS[value.event.type] || undefined }),
  });
}

export const oracleFacts = (value: InvocationFacts): OracleMessage => oracle(schemas.InvocationFactsSchema, facts(value));

/** Encodes without the status byte. */
export function oracleInvocation(value: Invocation): OracleMessage {
  const { journal, milestones, pinned } = value;
  return oracle(
    schemas.InvocationSchema,
    present<MessageInitShape<typeof schemas.InvocationSchema>>({
      facts: facts(value.facts),
      modifiedAtMs: big(value.modifiedAtMs),
      run: big(value.run),
      pinnedDeploymentId: pinned?.deploymentId,
      pinnedProtocolVersion: pinned?.protocolVersion,
      journalLength: journal.length,
      journalCommands: journal.commands,
      journalNotifications: journal.notifications,
      outputIndexPlusOne: journal.outputIndex + 1,
      sinks: value.sinks.map(sink),
      scheduledAtMs: maybeBig(milestones.scheduledAtMs),
      inboxedAtMs: maybeBig(milestones.inboxedAtMs),
      runningAtMs: maybeBig(milestones.runningAtMs),
      completedAtMs: maybeBig(milestones.completedAtMs),
      inboxSeq: value.status === "inboxed" ? big(value.inboxSeq) : undefined,
      pauseRequested: value.status === "invoked" ? value.pauseRequested : undefined,
      awaiting: value.status === "suspended" ? future(value.awaiting) : undefined,
      outcome: value.status === "completed" ? outcome(value.outcome) : undefined,
      hasEvents: journal.hasEvents,
      readyAtMs: value.status === "ready" ? big(value.readyAtMs) : undefined,
      moves: milestones.moves,
      restoredAtMs: maybeBig(milestones.restoredAtMs),
    }),
  );
}

export function oracleEvent({ kind, afterIndex, atMs, error }: JournalEvent): OracleMessage {
  return oracle(
    rows.JournalEventSchema,
    present<MessageInitShape<typeof rows.JournalEventSchema>>({
      kind: kind === "paused" ? rows.JournalEventKind.PAUSED : rows.JournalEventKind.TRANSIENT_ERROR,
      afterIndexPlusOne: afterIndex + 1,
      atMs: big(atMs),
      errorCode: error?.errorCode,
      code: error?.code,
      message: error?.message,
      stacktrace: error?.stacktrace,
      relatedCommandIndex: error?.relatedCommandIndex,
      relatedCommandName: error?.relatedCommandName,
      relatedCommandType: error?.relatedCommandType,
    }),
  );
}

export function oracleLock({ holder, head, tail, isStateChanged = false, isStateDue = false }: ObjectLock): OracleMessage {
  const fields = { head: big(head), tail: big(tail), isStateChanged, isStateDue };
  return oracle(rows.ObjectLockSchema, { ...(holder === undefined ? {} : { holder }), ...fields });
}

export function oracleInbox(entry: InboxEntry): OracleMessage {
  if (entry.kind === "invocation") return oracle(rows.InboxEntrySchema, { invocationId: entry.id });
  const { expectedVersion, undo, restored = [] } = entry;
  return oracle(rows.InboxEntrySchema, {
    isStateMutation: true,
    ...(expectedVersion === undefined ? {} : { expectedVersion }),
    entries: entry.entries.map(({ key, value }) => ({ key: fromBinaryString(key), value })),
    ...(undo === undefined ? {} : { undo: { id: undo.id, operationId: undo.mark.operation, untilMs: big(undo.mark.untilMs) } }),
    restored: restored.map(changedEntry),
  });
}

export function oraclePromise(promise: WorkflowPromise): OracleMessage {
  if (promise.kind === "completed") return oracle(rows.WorkflowPromiseSchema, { outcome: outcome(promise.outcome) });
  const listeners = promise.listeners.map(({ id, generation, completionId }) =>
    present<MessageInitShape<typeof rows.PromiseListenerSchema>>({
      invocationId: id,
      completionId,
      createdAtMs: maybeBig(generation),
    }),
  );
  return oracle(rows.WorkflowPromiseSchema, { listeners });
}

export function oraclePause({ pausedAtMs, lock }: QueuePause): OracleMessage {
  return oracle(rows.QueuePauseSchema, { pausedAtMs: big(pausedAtMs), ...(lock === undefined ? {} : lock) });
}

const UNDO_KINDS = {
  ended: rows.UndoKind.ENDED,
  purged: rows.UndoKind.PURGED,
  paused: rows.UndoKind.PAUSED,
  resumed: rows.UndoKind.RESUMED,
  stateEdited: rows.UndoKind.STATE_EDITED,
} as const;

export function oracleUndoNote({ kind, untilMs, generation, isUndone, deferredCount, bytes }: UndoNote): OracleMessage {
  return oracle(
    rows.UndoNoteSchema,
    present<MessageInitShape<typeof rows.UndoNoteSchema>>({
      kind: UNDO_KINDS[kind],
      untilMs: big(untilMs),
      createdAtMs: maybeBig(generation),
      isUndone,
      deferredCount,
      bytes: big(bytes),
    }),
  );
}

export function oracleUndoRecord({ invocation, journal, state, promises }: UndoRecord): OracleMessage {
  return oracle(rows.UndoRecordSchema, {
    invocation: encodeInvocation(invocation),
    entries: journal.map(encodeEntry),
    state: state.map(({ key, value }) => ({ key: fromBinaryString(key), value })),
    promises: promises.map(({ name, promise }) => ({
      name,
      promise: fromBinary(rows.WorkflowPromiseSchema, encodePromise(promise)),
    })),
  });
}

export function oracleStateEditRecord({ waitsAt, changes, ...rest }: StateEditRecord): OracleMessage {
  return oracle(
    rows.StateEditRecordSchema,
    present<MessageInitShape<typeof rows.StateEditRecordSchema>>({
      ...rest,
      waitsAt: maybeBig(waitsAt),
      changes: changes.map(changedEntry),
    }),
  );
}

function changedEntry({ key, before, afterHash }: ChangedEntry) {
  return present<MessageInitShape<typeof rows.ChangedEntrySchema>>({ key: fromBinaryString(key), before, afterHash });
}

export const oracleNumber = (value: number): OracleMessage => oracle(rows.NumberSchema, { value: big(value) });

export const oraclePacked = (packed: readonly Uint8Array[]): OracleMessage =>
  oracle(rows.PackedRowsSchema, { rows: [...packed] });

export function oracleOutboxCommand(command: OutboxCommand): OracleMessage {
  const invocationId = command.id;
  switch (command.kind) {
    case "invoke":
      return oracle(OutboxCommandSchema, {
        kind: OutboxCommandKind.INVOKE,
        invocationId,
        facts: facts(command.facts),
        input: command.input,
        ...(command.sink === undefined ? {} : { sink: sink(command.sink) }),
      });
    case "attach":
      return oracle(OutboxCommandSchema, { kind: OutboxCommandKind.ATTACH, invocationId, sink: sink(command.sink) });
    case "queryOutput": {
      const { callerId, callerGeneration, completionId } = command;
      const caller = sink({ kind: "call", callerId, callerGeneration, completionId });
      return oracle(OutboxCommandSchema, { kind: OutboxCommandKind.QUERY_OUTPUT, invocationId, sink: caller });
    }
    case "notify": {
      const { type, body, generation, endedBy, mayRepeat } = command;
      const fields = present<MessageInitShape<typeof OutboxCommandSchema>>({
        createdAtMs: maybeBig(generation),
        operationId: endedBy,
        untilMs: mayRepeat === undefined ? undefined : 1n,
      });
      return oracle(OutboxCommandSchema, { kind: OutboxCommandKind.NOTIFY, invocationId, type, body, ...fields });
    }
    case "signal":
      return oracle(OutboxCommandSchema, {
        kind: OutboxCommandKind.SIGNAL,
        invocationId,
        body: encodeNotification(command.signal, command.result),
      });
    case "kill":
      return oracle(OutboxCommandSchema, {
        kind: OutboxCommandKind.KILL,
        invocationId,
        ...(command.undo === undefined ? {} : { operationId: command.undo.operation, untilMs: big(command.undo.untilMs) }),
      });
    case "undo":
      return oracle(OutboxCommandSchema, {
        kind: OutboxCommandKind.UNDO,
        invocationId,
        operationId: command.operation,
        ...(command.sink === undefined ? {} : { sink: sink(command.sink) }),
      });
  }
}
