/** Answers of leaders, in the form in which they travel back. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { CommandAnswer, Invocation, Outcome, UndoAnswer } from "@perdure/state-machine";
import { decodeInvocation, encodeInvocation } from "@perdure/storage";
import * as proto from "../gen/v1/commands_pb.js";
import { given, named, refuse } from "./checks.js";
import { tagged } from "./commands.js";
import type { FieldCodec } from "./form.js";
import { checkedInvocationId } from "./schedules.js";

// ── answers of commands ──────────────────────────────────────────────────────────────────────────

/** Answers that have no field but their kind. */
type PlainKind = Exclude<
  CommandAnswer["kind"],
  "notRestartable" | "previouslyAccepted" | "throttled" | "throttleKeysFull" | "undo"
>;
type RestartRefusal = Extract<CommandAnswer, { kind: "notRestartable" }>["reason"];

const Kind = proto.CommandAnswer_Kind;
const KINDS: Readonly<Record<PlainKind, proto.CommandAnswer_Kind>> = {
  accepted: Kind.ACCEPTED,
  done: Kind.DONE,
  pending: Kind.PENDING,
  alreadyPaused: Kind.ALREADY_PAUSED,
  notFound: Kind.NOT_FOUND,
  alreadyCompleted: Kind.ALREADY_COMPLETED,
  notRunning: Kind.NOT_RUNNING,
  notStarted: Kind.NOT_STARTED,
  stillRunning: Kind.STILL_RUNNING,
  deploymentNotPinned: Kind.DEPLOYMENT_NOT_PINNED,
  notCompleted: Kind.NOT_COMPLETED,
  journalGone: Kind.JOURNAL_GONE,
  versionMismatch: Kind.VERSION_MISMATCH,
  tooManyPauses: Kind.TOO_MANY_PAUSES,
};
const REASONS: Readonly<Record<RestartRefusal, proto.CommandAnswer_NotRestartable_Reason>> = {
  workflow: proto.CommandAnswer_NotRestartable_Reason.WORKFLOW,
  incompletePrefix: proto.CommandAnswer_NotRestartable_Reason.INCOMPLETE_PREFIX,
};

const UNDO_RESULTS: Readonly<Record<UndoAnswer["result"], proto.CommandAnswer_Undo_Result>> = {
  undone: proto.CommandAnswer_Undo_Result.UNDONE,
  alreadyUndone: proto.CommandAnswer_Undo_Result.ALREADY_UNDONE,
  notKept: proto.CommandAnswer_Undo_Result.NOT_KEPT,
  expired: proto.CommandAnswer_Undo_Result.EXPIRED,
  conflict: proto.CommandAnswer_Undo_Result.CONFLICT,
};

export const commandAnswer: FieldCodec<CommandAnswer, proto.CommandAnswer> = {
  to(answer) {
    const message = create(proto.CommandAnswerSchema);
    switch (answer.kind) {
      case "notRestartable": {
        const value = create(proto.CommandAnswer_NotRestartableSchema, { reason: REASONS[answer.reason] });
        message.answer = { case: "notRestartable", value };
        return message;
      }
      case "previouslyAccepted": {
        const fields = { invocation: encodeInvocation(answer.invocation) };
        message.answer = { case: "previouslyAccepted", value: create(proto.CommandAnswer_PreviouslyAcceptedSchema, fields) };
        return message;
      }
      case "undo": {
        const { result, notified, isClientNotified, isWaiting = false } = answer;
        const fields = { result: UNDO_RESULTS[result], notifiedIds: [...notified], isClientNotified, isWaiting };
        message.answer = { case: "undo", value: create(proto.CommandAnswer_UndoSchema, fields) };
        return message;
      }
      case "throttled":
      case "throttleKeysFull":
        return refuse("the answer of a management command", answer.kind); // Only invokes have them, and `Answer.throttled` carries them.
      default:
        message.answer = { case: "kind", value: KINDS[answer.kind] };
        return message;
    }
  },
  from({ answer }) {
    switch (answer.case) {
      case "kind":
        return { kind: named(KINDS, answer.value, "the answer of a command") };
      case "notRestartable":
        return { kind: answer.case, reason: named(REASONS, answer.value.reason, "the reason of a refused restart") };
      case "previouslyAccepted":
        return { kind: answer.case, invocation: decodeInvocation(answer.value.invocation) };
      case "undo": {
        const { result, notifiedIds, isClientNotified, isWaiting } = answer.value;
        const notified = notifiedIds.map(checkedInvocationId);
        const undone = { result: named(UNDO_RESULTS, result, "the result of an undo"), notified, isClientNotified };
        return { kind: "undo", ...undone, ...(isWaiting ? { isWaiting } : {}) };
      }
      default:
        return refuse("the answer of a command", answer.case);
    }
  },
};

export function encodeAnswer(answer: CommandAnswer): Uint8Array {
  return toBinary(proto.CommandAnswerSchema, commandAnswer.to(answer));
}

/** Throws OPS0003 for an answer that this version does not have. */
export function decodeAnswer(bytes: Uint8Array): CommandAnswer {
  return commandAnswer.from(fromBinary(proto.CommandAnswerSchema, bytes));
}

// ── outcomes ─────────────────────────────────────────────────────────────────────────────────────

export type FailedOutcome = Extract<Outcome, { kind: "failure" }>;

/** The first byte of an outcome that is a value. */
export const SUCCESS_FORM = 0;

/** One byte for the form, then the value of an invocation that succeeded. */
export function encodeSuccess(value: Uint8Array): Uint8Array {
  return tagged(SUCCESS_FORM, value);
}

export const failedOutcome: FieldCodec<FailedOutcome, proto.Failure> = {
  to({ failure: { code, message, metadata }, stacktrace }) {
    const pairs = metadata.map(({ key, value }) => create(proto.Failure_MetadataSchema, { key, value }));
    return create(proto.FailureSchema, { code, message, metadata: pairs, ...given("stacktrace", stacktrace) });
  },
  from: ({ code, message, metadata, stacktrace }) => ({
    kind: "failure",
    failure: { code, message, metadata: metadata.map(({ key, value }) => ({ key, value })) },
    stacktrace,
  }),
};

export function encodeFailure(outcome: FailedOutcome): Uint8Array {
  return toBinary(proto.FailureSchema, failedOutcome.to(outcome));
}

export function decodeFailure(bytes: Uint8Array): FailedOutcome {
  return failedOutcome.from(fromBinary(proto.FailureSchema, bytes));
}

// ── invocations ──────────────────────────────────────────────────────────────────────────────────

export function encodeOptionalInvocation(invocation: Invocation | undefined): Uint8Array {
  return invocation === undefined ? NOTHING : encodeInvocation(invocation);
}

export function decodeOptionalInvocation(bytes: Uint8Array): Invocation | undefined {
  return bytes.length === 0 ? undefined : decodeInvocation(bytes);
}

const NOTHING = new Uint8Array(0);
