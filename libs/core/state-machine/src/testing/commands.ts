/** Builders of the commands that ingress and attempts send, bytes included, for tests that play an invocation command by command. */
import { type DeploymentId, EMPTY_BYTES, fromBinaryString, type InvocationId, utf8 } from "@perdure/base";
import {
  commandTypeOf,
  encodeCommand,
  encodeCompletion,
  encodeInput,
  type Future,
  futureFromLists,
  type JournalCommand,
  type ResultValue,
  type SignalId,
  type ValueOrFailure,
} from "@perdure/service-protocol";
import type { AppendCommand, AttemptFailed, CommandAction, End, Invoke, Pin, ProposeRun, Suspend } from "../command.js";
import type { AttemptError } from "../entry.js";
import type { InvocationFacts, Sink } from "../invocation.js";

export function invokeOf(facts: InvocationFacts, sink?: Sink): Invoke {
  return { kind: "invoke", id: facts.id, facts, input: encodeInput([], utf8("in")), sink };
}

/** Ids that tests share. */
export const DEPLOYMENT = "dp_15ChR1PDwZt22Rn2lfZrRo5" as DeploymentId;

export function pinOf(id: InvocationId, run: number, protocolVersion = 6): Pin {
  return { kind: "pin", id, run, pinned: { deploymentId: DEPLOYMENT, protocolVersion } };
}

/** A command of the handler, with the action that the invoker would give it. */
export function commandOf(
  id: InvocationId,
  run: number,
  command: JournalCommand,
  change: Partial<AppendCommand> = {},
): AppendCommand {
  const body = encodeCommand(command);
  const type = commandTypeOf[command.kind];
  return { kind: "appendCommand", id, run, type, body, ackRequested: false, action: actionOf(command), ...change };
}

function actionOf(command: JournalCommand): CommandAction {
  switch (command.kind) {
    case "output":
      return { kind: "output" };
    case "sleep":
      return { kind: "sleep", wakeUpAtMs: command.wakeUpTimeMs, completionId: command.resultCompletionId };
    case "clearAllState":
      return { kind: "clearAllState" };
    case "getLazyStateKeys":
      return { kind: "getLazyStateKeys", completionId: command.resultCompletionId };
    case "getPromise":
    case "peekPromise":
      return { kind: command.kind, key: command.key, completionId: command.resultCompletionId };
    default:
      return { kind: "none" };
  }
}

export const sleepOf = (id: InvocationId, run: number, completionId: number, wakeUpTimeMs: number): AppendCommand =>
  commandOf(id, run, { kind: "sleep", wakeUpTimeMs, resultCompletionId: completionId, name: "" });

export const runOf = (id: InvocationId, run: number, completionId: number): AppendCommand =>
  commandOf(id, run, { kind: "run", resultCompletionId: completionId, name: "" });

export function proposeOf(
  id: InvocationId,
  run: number,
  completionId: number,
  result: ValueOrFailure,
  ackOnly = false,
): ProposeRun {
  return { kind: "proposeRun", id, run, completionId, body: encodeCompletion(completionId, result), ackOnly };
}

/** `key` is a binary string. */
export function setStateOf(id: InvocationId, run: number, key: string, text: string): AppendCommand {
  const value = utf8(text);
  const command = { kind: "setState", stateKey: fromBinaryString(key), value, name: "" } as const;
  return commandOf(id, run, command, { action: { kind: "setState", key, value } });
}

export const getPromiseOf = (id: InvocationId, run: number, key: string, completionId: number): AppendCommand =>
  commandOf(id, run, { kind: "getPromise", key, resultCompletionId: completionId, name: "" });

export const peekPromiseOf = (id: InvocationId, run: number, key: string, completionId: number): AppendCommand =>
  commandOf(id, run, { kind: "peekPromise", key, resultCompletionId: completionId, name: "" });

export function completePromiseOf(
  id: InvocationId,
  run: number,
  key: string,
  completionId: number,
  completion: ValueOrFailure,
): AppendCommand {
  const command = { kind: "completePromise", key, completion, resultCompletionId: completionId, name: "" } as const;
  const outcome =
    completion.kind === "value"
      ? ({ kind: "success", value: completion.value } as const)
      : ({ kind: "failure", failure: completion.failure, stacktrace: undefined } as const);
  return commandOf(id, run, command, { action: { kind: "completePromise", key, outcome, completionId } });
}

/** A Call when `resultCompletionId` is given, else a OneWayCall; the callee's id comes under `idCompletionId`. */
export function callOf(
  id: InvocationId,
  run: number,
  callee: InvocationFacts,
  idCompletionId: number,
  resultCompletionId?: number,
): AppendCommand {
  const common = {
    serviceName: callee.target.service,
    handlerName: callee.target.handler,
    key: callee.target.key ?? "",
    parameter: EMPTY_BYTES,
    headers: [],
    idempotencyKey: undefined,
    scope: undefined,
    limitKey: undefined,
    invocationIdNotificationIdx: idCompletionId,
    name: "",
  };
  const resolved = { facts: callee, input: encodeInput([], EMPTY_BYTES) };
  if (resultCompletionId === undefined) {
    const action = { kind: "oneWayCall", callee: resolved, invocationIdCompletionId: idCompletionId } as const;
    return commandOf(id, run, { kind: "oneWayCall", ...common, invokeTimeMs: callee.executionTimeMs ?? 0 }, { action });
  }
  const action = { kind: "call", callee: resolved, invocationIdCompletionId: idCompletionId, resultCompletionId } as const;
  return commandOf(id, run, { kind: "call", ...common, resultCompletionId }, { action });
}

export function attachOf(
  id: InvocationId,
  run: number,
  to: InvocationId,
  completionId: number,
  kind: "attach" | "getOutput" = "attach",
): AppendCommand {
  const command: JournalCommand = {
    kind: kind === "attach" ? "attachInvocation" : "getInvocationOutput",
    target: { kind: "invocationId", invocationId: to },
    resultCompletionId: completionId,
    name: "",
  };
  return commandOf(id, run, command, { action: { kind, to, completionId } });
}

export function sendSignalOf(
  id: InvocationId,
  run: number,
  to: InvocationId,
  signal: SignalId,
  result: ResultValue,
): AppendCommand {
  const command = { kind: "sendSignal", targetInvocationId: to, signal, result, name: "" } as const;
  return commandOf(id, run, command, { action: { kind: "sendSignal", to, signal, result } });
}

export const outputOf = (id: InvocationId, run: number, text: string): AppendCommand =>
  commandOf(id, run, { kind: "output", result: { kind: "value", value: utf8(text) }, name: "" });

export const endOf = (id: InvocationId, run: number): End => ({ kind: "end", id, run });

/** Waits for any of the completions, or for a cancellation; the attempt has `knownNotifications` of the journal. */
export function suspendOf(id: InvocationId, run: number, completions: readonly number[], change: Partial<Suspend> = {}): Suspend {
  return {
    kind: "suspend",
    id,
    run,
    awaiting: futureFromLists(completions, [1]),
    receivedNotificationCount: 0,
    satisfied: false,
    ...change,
  };
}

export const SOME_ERROR: AttemptError = Object.freeze({
  errorCode: "RT0007",
  code: 500,
  message: "no luck",
  stacktrace: "at h",
  relatedCommandIndex: undefined,
  relatedCommandName: undefined,
  relatedCommandType: undefined,
});

export function failOf(id: InvocationId, run: number, then: AttemptFailed["then"], failureCount = 1): AttemptFailed {
  return { kind: "attemptFailed", id, run, error: SOME_ERROR, then, failureCount, isRepeated: false };
}

/** A node of an awaited tree. */
export function tree(combinator: Future["combinator"], completions: readonly number[], ...nested: Future[]): Future {
  return { combinator, completions, signalIndexes: [], signalNames: [], nested };
}
