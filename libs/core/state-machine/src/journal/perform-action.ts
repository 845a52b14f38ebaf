/**
 * Handles a journal command: stores it, performs its action, and completes it in the same turn where the result already exists.
 * Commands of one handler are applied in the order in which it made them.
 */

import { fromBinaryString, unreachable } from "@perdure/base";
import { MessageType, voidResult } from "@perdure/service-protocol";
import type { AppendCommand, Callee } from "../command.js";
import { present } from "../invocation/attempt.js";
import { generationMark, type Invoked, type Sink } from "../invocation.js";
import { completePromise, getPromise, peekPromise } from "../promise/promise.js";
import { noteStateChange } from "../state/expiry.js";
import { keyspaceOf } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { appendJournalCommand, completeAtOnce } from "./append.js";

export function appendCommand(view: PartitionView, command: AppendCommand, out: Transition): void {
  const before = present(view, command);
  if (before === undefined) return;
  const commandIndex = before.journal.commands;
  const ack = command.ackRequested ? commandIndex : undefined;
  // An immediate completion goes out before the ack of its command, so it carries the ack along.
  const ackNow = ack !== undefined && !completesAtOnce(view, before, command);
  const invocation = appendJournalCommand(
    out,
    before,
    command.type,
    command.body,
    ackNow ? { kind: "ackCommand", commandIndex } : undefined,
  );
  perform(view, invocation, command, ack, out);
}

/** Whether the command's own turn also stores its (first) completion. */
function completesAtOnce(view: PartitionView, invocation: Invoked, command: AppendCommand): boolean {
  switch (command.action.kind) {
    case "getLazyState":
    case "getLazyStateKeys":
    case "peekPromise":
    case "completePromise":
    case "call":
    case "oneWayCall":
      return true;
    case "getPromise":
      return (
        view.promise(keyspaceOf(invocation.facts.target), invocation.facts.target.key ?? "", command.action.key)?.kind ===
        "completed"
      );
    default:
      return false;
  }
}

function perform(
  view: PartitionView,
  invocation: Invoked,
  command: AppendCommand,
  ack: number | undefined,
  out: Transition,
): void {
  const { action } = command;
  const { id, target } = invocation.facts;
  const service = keyspaceOf(target);
  const key = target.key ?? "";
  switch (action.kind) {
    case "none":
    case "output":
      return;
    case "setState":
      out.mutate({ kind: "putState", service, key, stateKey: action.key, value: action.value });
      return noteStateChange(view, invocation, out);
    case "clearState":
      out.mutate({ kind: "deleteState", service, key, stateKey: action.key });
      return noteStateChange(view, invocation, out);
    case "clearAllState":
      noteStateChange(view, invocation, out);
      for (const stateKey of view.stateOf(service, key).keys()) out.mutate({ kind: "deleteState", service, key, stateKey });
      return;
    case "getLazyState": {
      const value = view.state(service, key, action.key);
      const result = value === undefined ? voidResult : ({ kind: "value", value } as const);
      completeAtOnce(view, out, invocation, MessageType.GetLazyStateCompletion, action.completionId, result, ack);
      return;
    }
    case "getLazyStateKeys": {
      const result = { kind: "stateKeys", stateKeys: [...view.stateOf(service, key).keys()].map(fromBinaryString) } as const;
      completeAtOnce(view, out, invocation, MessageType.GetLazyStateKeysCompletion, action.completionId, result, ack);
      return;
    }
    case "getPromise":
      getPromise(view, invocation, action.key, action.completionId, ack, out);
      return;
    case "peekPromise":
      return peekPromise(view, invocation, action.key, action.completionId, ack, out);
    case "completePromise":
      return completePromise(view, invocation, action.key, action.outcome, action.completionId, ack, out);
    case "sleep": {
      const timer = { dueAtMs: action.wakeUpAtMs, kind: "sleep", id, sequence: action.completionId } as const;
      out.mutate({ kind: "putTimer", timer });
      return out.effect({ kind: "armTimer", timer });
    }
    case "call":
      notifyCalleeId(view, out, invocation, action.callee, action.invocationIdCompletionId, ack);
      return invoke(action.callee, { kind: "call", ...callerOf(invocation, action.resultCompletionId) }, out);
    case "oneWayCall":
      notifyCalleeId(view, out, invocation, action.callee, action.invocationIdCompletionId, ack);
      return invoke(action.callee, undefined, out);
    case "sendSignal":
      return out.send({ kind: "signal", id: action.to, signal: action.signal, result: action.result });
    case "attach": {
      const sink = { kind: "attach", ...callerOf(invocation, action.completionId) } as const;
      return out.send({ kind: "attach", id: action.to, sink });
    }
    case "getOutput":
      return out.send({ kind: "queryOutput", id: action.to, ...callerOf(invocation, action.completionId) });
    default:
      return unreachable(action);
  }
}

/** Returns the destination of another invocation's result: a completion of this generation of the caller. */
function callerOf({ facts }: Invoked, completionId: number): Omit<Sink, "kind"> {
  return { callerId: facts.id, callerGeneration: generationMark(facts), completionId };
}

function invoke({ facts, input }: Callee, sink: Sink | undefined, out: Transition): void {
  out.send({ kind: "invoke", id: facts.id, facts, input, sink });
}

/** The id of the callee is determined before the callee exists; cancellation needs it. */
function notifyCalleeId(
  view: PartitionView,
  out: Transition,
  invocation: Invoked,
  callee: Callee,
  completionId: number,
  ack: number | undefined,
): void {
  const result = { kind: "invocationId", invocationId: callee.facts.id } as const;
  completeAtOnce(view, out, invocation, MessageType.CallInvocationIdCompletion, completionId, result, ack);
}
