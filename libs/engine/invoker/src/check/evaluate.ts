/**
 * What the end of a replay shows about the candidate. SDKs report the position of a mismatch and the command of the code; the command of
 * the journal is read from the journal itself.
 */
import { bytesEqual, unreachable } from "@perdure/base";
import {
  decodeCommand,
  isFault,
  type JournalCommand,
  MessageType,
  messageTypeName,
  outputResultOf,
  type ValueOrFailure,
} from "@perdure/service-protocol";
import type { AttemptError, JournalEntry } from "@perdure/state-machine";
import { type CheckedJournal, lacksResult } from "./checked-journal.js";
import type { ReplayEnd } from "./replay-stream.js";

/** A command as findings name it. `name` is the label from user code, undefined when there is none. */
export interface CommandLabel {
  readonly type: string;
  readonly name: string | undefined;
}

/** Place and kind of a difference between code and journal; fields that the endpoint does not report are undefined. */
interface JournalMismatch {
  readonly kind: "mismatch";
  /** Index of the command; Input is 0. */
  readonly commandIndex: number | undefined;
  readonly expected: CommandLabel | undefined;
  readonly actual: CommandLabel | undefined;
  readonly error: AttemptError;
}

export type ReplayResult =
  /** `output`: whether a completed invocation would end with the same output; undefined when the replay did not reach the output. */
  | { readonly kind: "compatible"; readonly output: "same" | "differs" | undefined }
  | JournalMismatch
  | { readonly kind: "failed"; readonly error: AttemptError }
  /** A mismatch that may also be the stop in front of a running step: the endpoint does not report which. */
  | { readonly kind: "unclear"; readonly error: AttemptError };

/**
 * Result of the guarded replay. `waits`: the handler waits for something, which is correct at the end of the journal and nowhere else;
 * only a replay without the stop can distinguish the two.
 */
export type GuardedResult = ReplayResult | { readonly kind: "waits" } | { readonly kind: "returned" };

const COMPATIBLE: ReplayResult = { kind: "compatible", output: undefined };

/** Text of shared SDK cores for the one mismatch without a position: an await that the journal cannot satisfy. */
const AWAIT = "'await' could not be replayed";

export function isAwait({ message }: AttemptError): boolean {
  return message.includes(AWAIT);
}

/** @param isCompleted the journal is only a sample: the stored Output need not come at the same place again */
export function evaluateGuarded(journal: CheckedJournal, end: ReplayEnd, isCompleted: boolean): GuardedResult {
  switch (end.kind) {
    case "mismatch":
      return evaluateMismatch(journal, end.error, isCompleted);
    case "failed":
      return end;
    case "wentOn":
    case "suspended":
    case "ended":
      return COMPATIBLE; // The SDK ignores the stop; a real attempt would have come as far.
    default:
      return unreachable(end);
  }
}

function evaluateMismatch(journal: CheckedJournal, error: AttemptError, isCompleted: boolean): GuardedResult {
  const stopIndex = journal.commands.length;
  const index = error.relatedCommandIndex;
  const actual = actualOf(error);
  if (index === stopIndex && !isAwait(error)) return evaluateNext(journal.next, actual, error, isCompleted, stopIndex);
  if (index !== undefined && index < stopIndex && !isWait(journal, index, actual, error)) {
    return { kind: "mismatch", commandIndex: index, expected: labelOf(journal.commands[index]), actual, error };
  }
  if (journal.next?.type !== MessageType.Run) return { kind: "waits" };
  // The journal must not be replayed without the stop here: the step behind the stop would be performed.
  if (!isAwait(error)) return { kind: "unclear", error };
  return { kind: "mismatch", commandIndex: stopIndex, expected: labelOf(journal.next), actual: undefined, error };
}

/** All replayed commands matched; the next command of the handler is compared with the stored one, where there is one. */
function evaluateNext(
  next: JournalEntry | undefined,
  actual: CommandLabel | undefined,
  error: AttemptError,
  isCompleted: boolean,
  commandIndex: number,
): GuardedResult {
  if (next === undefined || actual === undefined) return COMPATIBLE;
  const expected = labelOf(next);
  const isSame = expected?.type === actual.type && expected.name === actual.name;
  if (isSame) return next.type === MessageType.Output ? { kind: "returned" } : COMPATIBLE;
  if (isCompleted && next.type === MessageType.Output) return COMPATIBLE; // New steps after the old end.
  return { kind: "mismatch", commandIndex, expected, actual, error };
}

/** A mismatch of the command itself names the command of the code; a mismatch of an await names the awaited command. */
export function isWait(journal: CheckedJournal, index: number, actual: CommandLabel | undefined, error: AttemptError): boolean {
  if (isAwait(error)) return true;
  const stored = labelOf(journal.commands[index]);
  return stored?.type === actual?.type && stored?.name === actual?.name && lacksResult(journal, index);
}

/** Result of the replay without the stop. */
export function evaluatePlain(journal: CheckedJournal, end: ReplayEnd, isCompleted: boolean): ReplayResult {
  switch (end.kind) {
    case "mismatch": {
      const { error } = end;
      const index = error.relatedCommandIndex;
      const expected = index === undefined ? undefined : labelOf(journal.commands[index]);
      return { kind: "mismatch", commandIndex: index, expected, actual: actualOf(error), error };
    }
    case "failed":
      return end;
    case "wentOn":
      return evaluateOutput(journal, end.command, isCompleted);
    case "suspended":
    case "ended":
      return isCompleted || journal.next?.type !== MessageType.Output ? COMPATIBLE : noOutput(journal);
    default:
      return unreachable(end);
  }
}

/** The handler waits where it returned before, and would never end. */
function noOutput({ next, commands }: CheckedJournal): JournalMismatch {
  const error = outputError(commands.length, "the handler waits where the journal has its Output");
  return { kind: "mismatch", commandIndex: commands.length, expected: labelOf(next), actual: undefined, error };
}

function evaluateOutput(
  { next, commands }: CheckedJournal,
  command: JournalCommand | undefined,
  isCompleted: boolean,
): ReplayResult {
  if (next?.type !== MessageType.Output || command?.kind !== "output") return COMPATIBLE;
  if (isSameResult(outputResultOf(next.body), command.result)) return { kind: "compatible", output: "same" };
  if (isCompleted) return { kind: "compatible", output: "differs" };
  const label: CommandLabel = { type: messageTypeName(MessageType.Output), name: undefined };
  const error = outputError(commands.length, "the handler returned something else than the Output in the journal");
  return { kind: "mismatch", commandIndex: commands.length, expected: label, actual: label, error };
}

export function isSameResult(a: ValueOrFailure, b: ValueOrFailure): boolean {
  if (a.kind === "value") return b.kind === "value" && bytesEqual(a.value, b.value);
  return b.kind === "failure" && a.failure.code === b.failure.code && a.failure.message === b.failure.message;
}

function outputError(commandIndex: number, message: string): AttemptError {
  return {
    errorCode: "RT0016",
    code: 570,
    message,
    stacktrace: undefined,
    relatedCommandIndex: commandIndex,
    relatedCommandName: undefined,
    relatedCommandType: MessageType.Output,
  };
}

export function actualOf({ relatedCommandType, relatedCommandName }: AttemptError): CommandLabel | undefined {
  return relatedCommandType === undefined ? undefined : { type: messageTypeName(relatedCommandType), name: relatedCommandName };
}

export function labelOf(entry: JournalEntry | undefined): CommandLabel | undefined {
  if (entry === undefined) return undefined;
  const command = decodeCommand(entry.type, entry.body);
  const name = isFault(command) || command.name === "" ? undefined : command.name;
  return { type: messageTypeName(entry.type), name };
}
