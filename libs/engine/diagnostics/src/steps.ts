/**
 * Converts a journal of commands and notifications into steps, each with a beginning, an end and a result: a step joins a command with its
 * completion.
 */
import { fromUtf8, type InvocationId } from "@perdure/base";
import {
  type AttachTarget,
  cancelSignalIndex,
  decodeCommand,
  decodeNotification,
  isCommand,
  isFault,
  type JournalCommand,
  journalCommandName,
  type NotificationId,
  type NotificationResult,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";

/** Result of a step. `pending`: the journal has no completion yet. */
type StepResult =
  | { readonly kind: "pending" | "success"; readonly code: undefined; readonly message: undefined }
  | { readonly kind: "failure"; readonly code: number; readonly message: string };

export interface JournalStep {
  /** Journal index of the command or signal. */
  readonly index: number;
  /** Entry type as in introspection: `Call`, `Sleep`, `Run`, …, `Signal`. */
  readonly type: string;
  /** The decoded command; undefined for signals and for entries that cannot be decoded. */
  readonly command: JournalCommand | undefined;
  /** The label from user code, "" when there is none. */
  readonly name: string;
  /** Subject of the step: a target, a state key, a promise, an id; "" when it has none. */
  readonly subject: string;
  readonly startedAtMs: number;
  /** Undefined while pending. */
  readonly endedAtMs: number | undefined;
  readonly result: StepResult;
  /** The argument: parameter of a call, value of a state; undefined when the command has none. A view into the entry. */
  readonly payload: Uint8Array | undefined;
  /** The result's value; undefined while pending and when it has none. A view into the entry. */
  readonly resultPayload: Uint8Array | undefined;
  /** The invocation that a call or send created, once its id is stored. */
  readonly callee: InvocationId | undefined;
}

/** A decoded journal. */
export interface ParsedJournal {
  readonly steps: readonly JournalStep[];
  /** Steps by the completion id of their result. */
  readonly byCompletion: ReadonlyMap<number, JournalStep>;
}

const PENDING: StepResult = { kind: "pending", code: undefined, message: undefined };
const SUCCESS: StepResult = { kind: "success", code: undefined, message: undefined };

interface StepCompletion {
  readonly atMs: number;
  readonly result: NotificationResult;
}

/** Joins commands and completions; entries that cannot be decoded become steps without a command. */
export function readJournal(entries: readonly JournalEntry[]): ParsedJournal {
  const completions = new Map<number, StepCompletion>();
  for (const entry of entries) {
    if (isCommand(entry.type)) continue;
    const decoded = decodeNotification(entry.type, entry.body);
    if (!isFault(decoded) && decoded.id.kind === "completion") {
      completions.set(decoded.id.id, { atMs: entry.appendedAtMs, result: decoded.result });
    }
  }
  const steps: JournalStep[] = [];
  const byCompletion = new Map<number, JournalStep>();
  for (const [index, entry] of entries.entries()) {
    if (!isCommand(entry.type)) {
      const signal = signalStep(entry, index);
      if (signal !== undefined) steps.push(signal);
      continue;
    }
    const decoded = decodeCommand(entry.type, entry.body);
    const step = isFault(decoded) ? unreadable(entry, index) : commandStep(entry, index, decoded, completions);
    steps.push(step);
    const id = completionIdOf(step.command);
    if (id !== undefined) byCompletion.set(id, step);
  }
  return { steps, byCompletion };
}

/** Completion id of a command's result; undefined for commands without a result. */
function completionIdOf(command: JournalCommand | undefined): number | undefined {
  return command !== undefined && "resultCompletionId" in command ? command.resultCompletionId : undefined;
}

function commandStep(
  entry: JournalEntry,
  index: number,
  command: JournalCommand,
  completions: ReadonlyMap<number, StepCompletion>,
): JournalStep {
  const id = completionIdOf(command);
  const completion = id === undefined ? undefined : completions.get(id);
  const isDone = id === undefined || completion !== undefined;
  const calleeResult =
    "invocationIdNotificationIdx" in command ? completions.get(command.invocationIdNotificationIdx)?.result : undefined;
  return {
    index,
    type: journalCommandName(entry.type),
    command,
    name: command.name,
    subject: subjectOf(command),
    startedAtMs: entry.appendedAtMs,
    endedAtMs: isDone ? Math.max(entry.appendedAtMs, completion?.atMs ?? entry.appendedAtMs) : undefined,
    result: isDone ? resultOf(completion?.result ?? ownResult(command)) : PENDING,
    payload: payloadOf(command),
    resultPayload: completion?.result.kind === "value" ? completion.result.value : undefined,
    callee: calleeResult?.kind === "invocationId" ? (calleeResult.invocationId as InvocationId) : undefined,
  };
}

function unreadable(entry: JournalEntry, index: number): JournalStep {
  return {
    index,
    type: journalCommandName(entry.type),
    command: undefined,
    name: "",
    subject: "",
    startedAtMs: entry.appendedAtMs,
    endedAtMs: entry.appendedAtMs,
    result: SUCCESS,
    payload: entry.body,
    resultPayload: undefined,
    callee: undefined,
  };
}

/** A signal is a step of its own, because it has no command. */
function signalStep(entry: JournalEntry, index: number): JournalStep | undefined {
  const decoded = decodeNotification(entry.type, entry.body);
  if (isFault(decoded) || decoded.id.kind === "completion") return undefined;
  return {
    index,
    type: "Signal",
    command: undefined,
    name: "",
    subject: signalText(decoded.id),
    startedAtMs: entry.appendedAtMs,
    endedAtMs: entry.appendedAtMs,
    result: resultOf(decoded.result),
    payload: undefined,
    resultPayload: decoded.result.kind === "value" ? decoded.result.value : undefined,
    callee: undefined,
  };
}

function signalText(id: Exclude<NotificationId, { kind: "completion" }>): string {
  if (id.kind === "signalName") return id.name;
  return id.index === cancelSignalIndex ? "cancel" : `#${id.index}`;
}

/** The result that a command contains itself. */
function ownResult(command: JournalCommand): NotificationResult | undefined {
  return command.kind === "output" ? command.result : undefined;
}

function resultOf(result: NotificationResult | undefined): StepResult {
  if (result?.kind !== "failure") return SUCCESS;
  return { kind: "failure", code: result.failure.code, message: result.failure.message };
}

function payloadOf(command: JournalCommand): Uint8Array | undefined {
  switch (command.kind) {
    case "input":
    case "setState":
      return command.value;
    case "output":
    case "sendSignal":
    case "completeAwakeable":
    case "getEagerState":
      return command.result.kind === "value" ? command.result.value : undefined;
    case "completePromise":
      return command.completion.kind === "value" ? command.completion.value : undefined;
    case "call":
    case "oneWayCall":
      return command.parameter;
    default:
      return undefined;
  }
}

function subjectOf(command: JournalCommand): string {
  switch (command.kind) {
    case "getLazyState":
    case "setState":
    case "clearState":
    case "getEagerState":
      return fromUtf8(command.stateKey);
    case "getPromise":
    case "peekPromise":
    case "completePromise":
      return command.key;
    case "call":
    case "oneWayCall":
      return calleeText(command.serviceName, command.key, command.handlerName);
    case "sendSignal":
      return command.targetInvocationId;
    case "attachInvocation":
    case "getInvocationOutput":
      return attachText(command.target);
    case "completeAwakeable":
      return command.awakeableId;
    default:
      return "";
  }
}

function calleeText(service: string, key: string, handler: string): string {
  return key === "" ? `${service}/${handler}` : `${service}/${key}/${handler}`;
}

export function attachText(target: AttachTarget): string {
  switch (target.kind) {
    case "invocationId":
      return target.invocationId;
    case "workflow":
      return `${target.workflowName}/${target.workflowKey}`;
    default:
      return calleeText(target.serviceName, target.serviceKey ?? "", target.handlerName);
  }
}
