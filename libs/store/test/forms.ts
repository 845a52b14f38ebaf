/** Why: every stored form that is a message, with what tests need of it: values of all shapes, our codec, and the independent one. */
import { toBinaryString } from "@perdure/base";
import type {
  InboxEntry,
  Invocation,
  InvocationFacts,
  JournalEvent,
  QueuePause,
  Sink,
  WorkflowPromise,
} from "@perdure/partition";
import type { NotificationId, ResultValue } from "@perdure/service-protocol";
import fc from "fast-check";
import { decodeFacts, encodeFacts } from "../src/codec/invocation.js";
import {
  decodeEvent,
  decodeInbox,
  decodeInvocation,
  decodeLock,
  decodeNumber,
  decodeOwed,
  decodePause,
  decodePromise,
  encodeEvent,
  encodeInbox,
  encodeInvocation,
  encodeLock,
  encodeNumber,
  encodeOwed,
  encodePause,
  encodePromise,
  type OwedCommand,
  packRows,
  unpackRows,
} from "../src/index.js";
import { arbitraryFacts, arbitraryId, arbitraryInvocation, arbitraryOutcome } from "../src/testing/index.js";
import {
  type OracleMessage,
  oracleEvent,
  oracleFacts,
  oracleInbox,
  oracleInvocation,
  oracleLock,
  oracleNumber,
  oracleOwed,
  oraclePacked,
  oraclePause,
  oraclePromise,
} from "./oracle.js";

/** `encode` and `decode` are ours and know the message alone: of an invocation, what follows its status byte. */
export interface Form<T> {
  readonly name: string;
  readonly values: fc.Arbitrary<T>;
  encode(value: T): Uint8Array;
  /** `like` has the status of the invocation, which is no part of the message. */
  decode(message: Uint8Array, like: T): T;
  oracle(value: T): OracleMessage;
}

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const bytes = fc.uint8Array({ maxLength: 24 });
const uint32 = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 0xffff_ffff }));
const safe = fc.oneof(fc.nat(3), fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });

const event: fc.Arbitrary<JournalEvent> = fc.record({
  kind: fc.constantFrom("transientError", "paused"),
  afterIndex: fc.integer({ min: -1, max: 0xffff_fffe }),
  atMs: safe,
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

const stateEntry = fc.record({ key: bytes.map(toBinaryString), value: bytes });
const inbox: fc.Arbitrary<InboxEntry> = fc.oneof(
  fc.record({ kind: fc.constant("invocation" as const), id: arbitraryId }),
  fc.record({
    kind: fc.constant("stateMutation" as const),
    expectedVersion: maybe(text),
    entries: fc.array(stateEntry, { maxLength: 3 }),
  }),
);

const promise: fc.Arbitrary<WorkflowPromise> = fc.oneof(
  fc.record({ kind: fc.constant("completed" as const), outcome: arbitraryOutcome }),
  fc.record({
    kind: fc.constant("pending" as const),
    listeners: fc.array(fc.record({ id: arbitraryId, life: maybe(safe), completionId: uint32 }), { maxLength: 3 }),
  }),
);

const pause: fc.Arbitrary<QueuePause> = fc.record({ pausedAtMs: safe, lock: maybe(fc.record({ service: text, key: text })) });

const sink: fc.Arbitrary<Sink> = fc.record({
  kind: fc.constantFrom("call", "attach"),
  callerId: arbitraryId,
  callerLife: maybe(safe),
  completionId: uint32,
});
const signal: fc.Arbitrary<Exclude<NotificationId, { kind: "completion" }>> = fc.oneof(
  fc.record({ kind: fc.constant("signalIndex" as const), index: uint32 }),
  fc.record({ kind: fc.constant("signalName" as const), name: text }),
);
const result: fc.Arbitrary<ResultValue> = fc.oneof(
  fc.constant<ResultValue>({ kind: "void" }),
  fc.record({ kind: fc.constant("value" as const), value: bytes }),
  fc.record({
    kind: fc.constant("failure" as const),
    failure: fc.record({
      code: uint32,
      message: text,
      metadata: fc.array(fc.record({ key: text, value: text }), { maxLength: 2 }),
    }),
  }),
);
const owed: fc.Arbitrary<OwedCommand> = fc.oneof(
  fc
    .record({ kind: fc.constant("invoke" as const), facts: arbitraryFacts, input: bytes, sink: maybe(sink) })
    .map((invoke) => ({ ...invoke, id: invoke.facts.id })),
  fc.record({ kind: fc.constant("attach" as const), id: arbitraryId, sink }),
  fc.record({
    kind: fc.constant("queryOutput" as const),
    id: arbitraryId,
    callerId: arbitraryId,
    callerLife: maybe(safe),
    completionId: uint32,
  }),
  fc.record({ kind: fc.constant("notify" as const), id: arbitraryId, life: maybe(safe), type: uint32, body: bytes }),
  fc.record({ kind: fc.constant("signal" as const), id: arbitraryId, signal, result }),
  fc.record({ kind: fc.constant("kill" as const), id: arbitraryId }),
);

/** The bytes that facts remember are no part of their value. */
const withoutBytes = (facts: InvocationFacts): InvocationFacts => ({ ...facts, bytes: undefined });

function form<T>(parts: Form<T>): Form<unknown> {
  return parts as unknown as Form<unknown>;
}

/** All of them. */
export const FORMS: readonly Form<unknown>[] = [
  form<Invocation>({
    name: "invocation",
    values: arbitraryInvocation,
    encode: (value) => encodeInvocation({ ...value, facts: withoutBytes(value.facts) }).subarray(1),
    decode: (message, like) => {
      const row = new Uint8Array(message.length + 1);
      row[0] = encodeInvocation({ ...like, facts: withoutBytes(like.facts) })[0] as number;
      row.set(message, 1);
      const decoded = decodeInvocation(row);
      return { ...decoded, facts: withoutBytes(decoded.facts) };
    },
    oracle: oracleInvocation,
  }),
  form<InvocationFacts>({
    name: "facts of an invocation",
    values: arbitraryFacts,
    encode: encodeFacts,
    decode: (message) => withoutBytes(decodeFacts(message)),
    oracle: oracleFacts,
  }),
  form<JournalEvent>({ name: "journal event", values: event, encode: encodeEvent, decode: decodeEvent, oracle: oracleEvent }),
  form({
    name: "lock",
    values: fc.record({ holder: maybe(arbitraryId), head: safe, tail: safe }),
    encode: encodeLock,
    decode: decodeLock,
    oracle: oracleLock,
  }),
  form<InboxEntry>({ name: "inbox entry", values: inbox, encode: encodeInbox, decode: decodeInbox, oracle: oracleInbox }),
  form<WorkflowPromise>({
    name: "workflow promise",
    values: promise,
    encode: encodePromise,
    decode: decodePromise,
    oracle: oraclePromise,
  }),
  form<QueuePause>({ name: "paused queue", values: pause, encode: encodePause, decode: decodePause, oracle: oraclePause }),
  form<number>({ name: "number", values: safe, encode: encodeNumber, decode: decodeNumber, oracle: oracleNumber }),
  form<readonly Uint8Array[]>({
    name: "packed rows",
    values: fc.array(bytes, { maxLength: 4 }),
    encode: packRows,
    decode: unpackRows,
    oracle: oraclePacked,
  }),
  form<OwedCommand>({
    name: "outbox command",
    values: owed,
    encode: (value) => encodeOwed(value.kind === "invoke" ? { ...value, facts: withoutBytes(value.facts) } : value),
    decode: (message) => {
      const decoded = decodeOwed(message);
      return decoded.kind === "invoke" ? { ...decoded, facts: withoutBytes(decoded.facts) } : decoded;
    },
    oracle: oracleOwed,
  }),
];
