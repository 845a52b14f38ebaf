/** Generators of rows of every kind and shape besides invocations, for property tests and the recorder of rows. */
import { type OperationId, toBinaryString } from "@perdure/base";
import type { NotificationId, ResultValue } from "@perdure/service-protocol";
import type {
  ChangedEntry,
  InboxEntry,
  JournalEntry,
  JournalEvent,
  ObjectLock,
  QueuePause,
  Sink,
  StateEditRecord,
  UndoNote,
  UndoRecord,
  WorkflowPromise,
} from "@perdure/state-machine";
import fc from "fast-check";
import type { OutboxCommand } from "../src/index.js";
import { arbitraryFacts, arbitraryId, arbitraryInvocation, arbitraryOutcome } from "../src/testing/arbitraries.js";

const text = fc.string({ unit: "grapheme", maxLength: 12 });
export const arbitraryBytes = fc.uint8Array({ maxLength: 24 });
const uint32 = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 0xffff_ffff }));
export const arbitrarySafe = fc.oneof(fc.nat(3), fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

export const arbitraryEvent: fc.Arbitrary<JournalEvent> = fc.record({
  kind: fc.constantFrom("transientError", "paused"),
  afterIndex: fc.integer({ min: -1, max: 0xffff_fffe }),
  atMs: arbitrarySafe,
  error: maybe(
    fc.record({
      errorCode: text,
      code: uint32,
      message: text,
      stacktrace: maybe(text),
      relatedCommandIndex: maybe(uint32),
      relatedCommandName: maybe(text),
      relatedCommandType: maybe(uint32),
    }),
  ),
});

const stateEntry = fc.record({ key: arbitraryBytes.map(toBinaryString), value: arbitraryBytes });
const arbitraryOperation = text.map((id) => id as OperationId);
const changedEntry: fc.Arbitrary<ChangedEntry> = fc.record({
  key: arbitraryBytes.map(toBinaryString),
  before: maybe(arbitraryBytes),
  afterHash: maybe(arbitraryBytes),
});
export const arbitraryInbox: fc.Arbitrary<InboxEntry> = fc.oneof(
  fc.record({ kind: fc.constant("invocation" as const), id: arbitraryId }),
  fc.record({
    kind: fc.constant("stateMutation" as const),
    expectedVersion: maybe(text),
    entries: fc.array(stateEntry, { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant("stateMutation" as const),
    expectedVersion: maybe(text),
    entries: fc.array(stateEntry, { maxLength: 3 }),
    undo: fc.record({ id: arbitraryId, mark: fc.record({ operation: arbitraryOperation, untilMs: arbitrarySafe }) }),
    restored: fc.array(changedEntry, { minLength: 1, maxLength: 3 }),
  }),
);

export const arbitraryPromise: fc.Arbitrary<WorkflowPromise> = fc.oneof(
  fc.record({ kind: fc.constant("completed" as const), outcome: arbitraryOutcome }),
  fc.record({
    kind: fc.constant("pending" as const),
    listeners: fc.array(fc.record({ id: arbitraryId, generation: maybe(arbitrarySafe), completionId: uint32 }), { maxLength: 3 }),
  }),
);

export const arbitraryPause: fc.Arbitrary<QueuePause> = fc.record({
  pausedAtMs: arbitrarySafe,
  lock: maybe(fc.record({ service: text, key: text })),
});

const sink: fc.Arbitrary<Sink> = fc.record({
  kind: fc.constantFrom("call", "attach"),
  callerId: arbitraryId,
  callerGeneration: maybe(arbitrarySafe),
  completionId: uint32,
});
const signal: fc.Arbitrary<Exclude<NotificationId, { kind: "completion" }>> = fc.oneof(
  fc.record({ kind: fc.constant("signalIndex" as const), index: uint32 }),
  fc.record({ kind: fc.constant("signalName" as const), name: text }),
);
const result: fc.Arbitrary<ResultValue> = fc.oneof(
  fc.constant<ResultValue>({ kind: "void" }),
  fc.record({ kind: fc.constant("value" as const), value: arbitraryBytes }),
  fc.record({
    kind: fc.constant("failure" as const),
    failure: fc.record({
      code: uint32,
      message: text,
      metadata: fc.array(fc.record({ key: text, value: text }), { maxLength: 2 }),
    }),
  }),
);
export const arbitraryOutboxCommand: fc.Arbitrary<OutboxCommand> = fc.oneof(
  fc
    .record({ kind: fc.constant("invoke" as const), facts: arbitraryFacts, input: arbitraryBytes, sink: maybe(sink) })
    .map((invoke) => ({ ...invoke, id: invoke.facts.id })),
  fc.record({ kind: fc.constant("attach" as const), id: arbitraryId, sink }),
  fc.record({
    kind: fc.constant("queryOutput" as const),
    id: arbitraryId,
    callerId: arbitraryId,
    callerGeneration: maybe(arbitrarySafe),
    completionId: uint32,
  }),
  fc.record({
    kind: fc.constant("notify" as const),
    id: arbitraryId,
    generation: maybe(arbitrarySafe),
    type: uint32,
    body: arbitraryBytes,
  }),
  fc.record({
    kind: fc.constant("notify" as const),
    id: arbitraryId,
    generation: maybe(arbitrarySafe),
    type: uint32,
    body: arbitraryBytes,
    endedBy: arbitraryOperation,
    mayRepeat: fc.constant(true as const),
  }),
  fc.record({ kind: fc.constant("signal" as const), id: arbitraryId, signal, result }),
  fc.record({ kind: fc.constant("kill" as const), id: arbitraryId }),
  fc.record({
    kind: fc.constant("kill" as const),
    id: arbitraryId,
    undo: fc.record({ operation: arbitraryOperation, untilMs: arbitrarySafe }),
  }),
  fc.record({ kind: fc.constant("undo" as const), id: arbitraryId, operation: arbitraryOperation, sink: maybe(sink) }),
);

export const arbitraryLock: fc.Arbitrary<ObjectLock> = fc.record({
  holder: maybe(arbitraryId),
  head: arbitrarySafe,
  tail: arbitrarySafe,
  isStateChanged: fc.constantFrom(undefined, true),
  isStateDue: fc.constantFrom(undefined, true),
});
export const arbitraryEntry: fc.Arbitrary<JournalEntry> = fc.record({
  type: fc.integer({ min: 0, max: 0xffff }),
  body: arbitraryBytes,
  appendedAtMs: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
});
export const arbitraryPacked = fc.array(arbitraryBytes, { maxLength: 4 });

/** The id and the operation are the name of the row. */
export const arbitraryUndoNote: fc.Arbitrary<UndoNote> = fc.record({
  id: arbitraryId,
  operation: arbitraryOperation,
  kind: fc.constantFrom("ended", "purged", "paused", "resumed", "stateEdited"),
  untilMs: arbitrarySafe,
  generation: maybe(arbitrarySafe),
  isUndone: fc.boolean(),
  deferredCount: uint32,
  bytes: arbitrarySafe,
});
export const arbitraryUndoRecord: fc.Arbitrary<UndoRecord> = fc.record({
  invocation: arbitraryInvocation,
  journal: fc.array(arbitraryEntry, { maxLength: 3 }),
  state: fc.array(stateEntry, { maxLength: 3 }),
  promises: fc.array(fc.record({ name: text, promise: arbitraryPromise }), { maxLength: 3 }),
});
export const arbitraryStateEditRecord: fc.Arbitrary<StateEditRecord> = fc.record({
  service: text,
  key: text,
  isExclusive: fc.boolean(),
  waitsAt: maybe(arbitrarySafe),
  changes: fc.array(changedEntry, { maxLength: 3 }),
});
