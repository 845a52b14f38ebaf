/** Every stored form that is a protobuf message, with what tests need of it: values of all shapes, our codec, and the independent one. */
import type { InvocationId, OperationId } from "@perdure/base";
import type {
  InboxEntry,
  Invocation,
  InvocationFacts,
  JournalEvent,
  QueuePause,
  StateEditRecord,
  UndoNote,
  UndoRecord,
  WorkflowPromise,
} from "@perdure/state-machine";
import type fc from "fast-check";
import { decodeFacts, encodeFacts } from "../src/codec/facts.js";
import {
  decodeEvent,
  decodeInbox,
  decodeInvocation,
  decodeLock,
  decodeNumber,
  decodeOutboxCommand,
  decodePause,
  decodePromise,
  decodeStateEditRecord,
  decodeUndoNote,
  decodeUndoRecord,
  encodeEvent,
  encodeInbox,
  encodeInvocation,
  encodeLock,
  encodeNumber,
  encodeOutboxCommand,
  encodePause,
  encodePromise,
  encodeStateEditRecord,
  encodeUndoNote,
  encodeUndoRecord,
  type OutboxCommand,
  packRows,
  undoNoteName,
  unpackRows,
} from "../src/index.js";
import { arbitraryFacts, arbitraryInvocation } from "../src/testing/arbitraries.js";
import {
  type OracleMessage,
  oracleEvent,
  oracleFacts,
  oracleInbox,
  oracleInvocation,
  oracleLock,
  oracleNumber,
  oracleOutboxCommand,
  oraclePacked,
  oraclePause,
  oraclePromise,
  oracleStateEditRecord,
  oracleUndoNote,
  oracleUndoRecord,
} from "./oracle.js";
import {
  arbitraryEvent,
  arbitraryInbox,
  arbitraryLock,
  arbitraryOutboxCommand,
  arbitraryPacked,
  arbitraryPause,
  arbitraryPromise,
  arbitrarySafe,
  arbitraryStateEditRecord,
  arbitraryUndoNote,
  arbitraryUndoRecord,
} from "./row-arbitraries.js";

/** `encode` and `decode` are ours and cover the message alone: of an invocation, the bytes after its status byte. */
export interface Form<T> {
  readonly name: string;
  readonly values: fc.Arbitrary<T>;
  encode(value: T): Uint8Array;
  /** `like` has the status of the invocation, which is not part of the message. */
  decode(message: Uint8Array, like: T): T;
  oracle(value: T): OracleMessage;
}

/** The cached bytes of the facts are not part of their value. */
const withoutBytes = (facts: InvocationFacts): InvocationFacts => ({ ...facts, bytes: undefined });

const NO_ID = "" as InvocationId;
const NO_OPERATION = "" as OperationId;

function ofInvocation({ invocation, ...rest }: UndoRecord): UndoRecord {
  return { invocation: { ...invocation, facts: withoutBytes(invocation.facts) }, ...rest };
}

function form<T>(parts: Form<T>): Form<unknown> {
  return parts as unknown as Form<unknown>;
}

/** All stored forms. */
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
  form<JournalEvent>({
    name: "journal event",
    values: arbitraryEvent,
    encode: encodeEvent,
    decode: decodeEvent,
    oracle: oracleEvent,
  }),
  form({
    name: "lock",
    values: arbitraryLock,
    encode: encodeLock,
    decode: decodeLock,
    oracle: oracleLock,
  }),
  form<InboxEntry>({
    name: "inbox entry",
    values: arbitraryInbox,
    encode: encodeInbox,
    decode: decodeInbox,
    oracle: oracleInbox,
  }),
  form<WorkflowPromise>({
    name: "workflow promise",
    values: arbitraryPromise,
    encode: encodePromise,
    decode: decodePromise,
    oracle: oraclePromise,
  }),
  form<QueuePause>({
    name: "paused queue",
    values: arbitraryPause,
    encode: encodePause,
    decode: decodePause,
    oracle: oraclePause,
  }),
  form<UndoNote>({
    name: "note of an undo",
    values: arbitraryUndoNote,
    encode: encodeUndoNote,
    decode: (message, like) => decodeUndoNote(undoNoteName(like?.id ?? NO_ID, like?.operation ?? NO_OPERATION), message),
    oracle: oracleUndoNote,
  }),
  form<UndoRecord>({
    name: "record of an undo",
    values: arbitraryUndoRecord,
    encode: (value) => encodeUndoRecord(ofInvocation(value)),
    decode: (message) => ofInvocation(decodeUndoRecord(message)),
    oracle: (value) => oracleUndoRecord(ofInvocation(value)),
  }),
  form<StateEditRecord>({
    name: "record of a state edit",
    values: arbitraryStateEditRecord,
    encode: encodeStateEditRecord,
    decode: decodeStateEditRecord,
    oracle: oracleStateEditRecord,
  }),
  form<number>({ name: "number", values: arbitrarySafe, encode: encodeNumber, decode: decodeNumber, oracle: oracleNumber }),
  form<readonly Uint8Array[]>({
    name: "packed rows",
    values: arbitraryPacked,
    encode: packRows,
    decode: unpackRows,
    oracle: oraclePacked,
  }),
  form<OutboxCommand>({
    name: "outbox command",
    values: arbitraryOutboxCommand,
    encode: (value) => encodeOutboxCommand(value.kind === "invoke" ? { ...value, facts: withoutBytes(value.facts) } : value),
    decode: (message) => {
      const decoded = decodeOutboxCommand(message);
      return decoded.kind === "invoke" ? { ...decoded, facts: withoutBytes(decoded.facts) } : decoded;
    },
    oracle: oracleOutboxCommand,
  }),
];
