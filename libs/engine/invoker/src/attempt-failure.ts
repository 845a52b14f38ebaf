/**
 * Why an attempt failed and what the failure means for the next attempt. Everything that can end an attempt is converted to this type.
 */
import type { ErrorCode } from "@perdure/base";
import type { TransportFailure } from "@perdure/endpoint-transport";
import { type ErrorMessage, type JournalCommand, messageTypeName, type ProtocolFault } from "@perdure/service-protocol";
import type { AttemptError } from "@perdure/state-machine";

export interface AttemptFailure {
  readonly error: AttemptError;
  /** Replaces the delay of the retry policy once, exactly, without using up an attempt. */
  readonly nextRetryDelayMs: number | undefined;
  /** `pause` and `fail` bypass the retry policy. */
  readonly behavior: "retry" | "pause" | "fail";
  /** Whether the failure raises `retry_count_since_last_stored_entry` (service-protocol §3.4). */
  readonly countsForSdk: boolean;
  /** The rest of the response is useless: reset the stream instead of draining it. */
  readonly resetStream: boolean;
  /** The handler has not ended and its stream drains: the handler may still reach a command. */
  readonly mayStillRun: boolean;
  /** The endpoint refused the stream without processing it: the attempt did not take place. */
  readonly isUnprocessed: boolean;
}

const INTERNAL_CODE = 500;

/** A failure that the invoker detected. `code` is the number that callers receive if this failure becomes the outcome. */
export function failure(
  errorCode: ErrorCode,
  message: string,
  {
    code = INTERNAL_CODE,
    countsForSdk = true,
    resetStream = true,
    nextRetryDelayMs,
  }: {
    code?: number;
    countsForSdk?: boolean;
    resetStream?: boolean;
    nextRetryDelayMs?: number | undefined;
  } = {},
): AttemptFailure {
  return {
    error: {
      errorCode,
      code,
      message,
      stacktrace: undefined,
      relatedCommandIndex: undefined,
      relatedCommandName: undefined,
      relatedCommandType: undefined,
    },
    nextRetryDelayMs,
    behavior: "retry",
    countsForSdk,
    resetStream,
    mayStillRun: false,
    isUnprocessed: false,
  };
}

/**
 * The endpoint violated the protocol. A future that is nested too deeply fails again in each attempt, so that failure pauses at once
 * (RT0025).
 */
export function protocolFailure(fault: ProtocolFault): AttemptFailure {
  const made = failure(fault.code, fault.detail);
  return fault.code === "RT0025" ? { ...made, behavior: "pause" } : made;
}

/** A command that must not be stored (service-protocol §5.1). */
export interface RefusedCommand {
  readonly kind: "refused";
  readonly code: "RT0012" | "RT0017" | "RT0018" | "RT0020" | "RT0024";
  readonly reason: string;
}

export function refused(code: RefusedCommand["code"], reason: string): RefusedCommand {
  return { kind: "refused", code, reason };
}

/**
 * A refused command. The stream is only half-closed: the SDK treats that as "suspend when blocked" and ends the stream in order
 * (service-protocol §6.4).
 */
export function refusalFailure(
  refusal: RefusedCommand,
  command: JournalCommand,
  type: number,
  commandIndex: number,
): AttemptFailure {
  const made = failure(refusal.code, `${messageTypeName(type)} command at index ${commandIndex} failed: ${refusal.reason}`, {
    resetStream: refusal.code === "RT0012",
  });
  return {
    ...made,
    error: {
      ...made.error,
      relatedCommandIndex: commandIndex,
      relatedCommandName: command.name === "" ? undefined : command.name,
      relatedCommandType: type,
    },
  };
}

/** Returns the failure that the handler itself reported (service-protocol §6.3). */
export function reportedFailure(message: ErrorMessage): AttemptFailure {
  return {
    error: {
      errorCode: reportedErrorCode(message.code),
      code: message.code,
      message: message.message,
      stacktrace: message.stacktrace === "" ? undefined : message.stacktrace,
      relatedCommandIndex: message.relatedCommandIndex,
      relatedCommandName: message.relatedCommandName === "" ? undefined : message.relatedCommandName,
      relatedCommandType: message.relatedCommandType,
    },
    nextRetryDelayMs: message.nextRetryDelayMs,
    behavior: message.behavior,
    countsForSdk: true,
    resetStream: false,
    mayStillRun: false,
    isUnprocessed: false,
  };
}

function reportedErrorCode(code: number): ErrorCode {
  if (code === 570) return "RT0016";
  if (code === 571) return "RT0012";
  return "RT0007";
}

/**
 * The handler sent nothing for too long after the end of its request. The stream stays open for the drain: a handler that reaches its
 * next command during the drain sees the end of its request and suspends, as with the reference, instead of a broken connection.
 */
export function abortTimeoutFailure(abortTimeoutMs: number): AttemptFailure {
  const reason = `no message from the handler for ${abortTimeoutMs} ms after its request was closed`;
  return { ...failure("RT0001", reason, { resetStream: false }), mayStillRun: true };
}

/** The response ended without a final message. */
export function endOfStreamFailure(truncated: boolean): AttemptFailure {
  const message = truncated ? "the response ended inside a message" : "the response ended without a final message";
  return failure("RT0007", message, { resetStream: false });
}

export function transportFailure(cause: TransportFailure): AttemptFailure {
  if (cause.kind === "refused") return { ...failure("RT0010", cause.message, { countsForSdk: false }), isUnprocessed: true };
  return failure(cause.kind === "http11Peer" ? "META0014" : "RT0010", cause.message);
}

interface JournalSize {
  readonly entries: number;
  readonly bytes: number;
}

interface JournalBounds {
  readonly journalEntriesMax: number;
  readonly journalBytesMax: number;
}

/**
 * The reason why the journal accepts no command of `moreBytes`. Another attempt would fail at the same command, so the failure pauses
 * at once.
 */
export function journalFailure(
  { entries, bytes }: JournalSize,
  moreBytes: number,
  { journalEntriesMax, journalBytesMax }: JournalBounds,
): AttemptFailure | undefined {
  let why: string;
  if (entries >= journalEntriesMax) why = `the journal has ${entries} entries, and ${journalEntriesMax} are allowed`;
  else if (bytes + moreBytes > journalBytesMax)
    why = `the journal has ${bytes} bytes; with ${moreBytes} more it would exceed the ${journalBytesMax} that are allowed`;
  else return undefined;
  return { ...failure("RT0100", why), behavior: "pause" };
}
