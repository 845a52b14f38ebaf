/**
 * Finds waiting invocations without a cause. When nothing has happened for long, an invocation that still waits must have a reason
 * outside of the system: a paused or endless callee, a promise that is never completed, a signal that is never sent. Anything else is a
 * lost wake-up.
 */
import type { InvocationId } from "@perdure/base";
import {
  decodeCommand,
  decodeNotification,
  type Future,
  isFault,
  MessageType,
  messageTypeName,
  type SignalId,
  waitingCompletions,
  waitingNamedSignals,
  waitingSignals,
} from "@perdure/service-protocol";
import { type Invocation, queueOfLock } from "@perdure/state-machine";
import { attachedInvocation } from "../attach/targets.js";
import type { GenerationRecord } from "./generation-record.js";
import type { Ledger } from "./ledger.js";

/** Returns one sentence for each wait that nothing will ever end. */
export function causesMissing(ledger: Ledger, pausedQueues: ReadonlySet<string>): readonly string[] {
  const missing: string[] = [];
  const noteSlot = (invocation: Invocation): void => {
    const why = ledger.flow.causeMissing(invocation);
    if (why !== undefined) missing.push(`${invocation.facts.id} waits for a slot, but ${why}`);
  };
  for (const generation of ledger.unfinished()) {
    const { invocation } = generation;
    switch (invocation.status) {
      case "suspended":
        for (const id of waitingCompletions(invocation.awaiting)) {
          const why = missingCause(ledger, generation, id);
          if (why !== undefined) missing.push(`${generation.id} waits for completion ${id}: ${why}`);
        }
        for (const signal of signalsOf(invocation.awaiting)) {
          if (ledger.signals.wasSent(generation, signal))
            missing.push(`${generation.id} waits for a signal that was sent: ${JSON.stringify(signal)}`);
        }
        break;
      case "inboxed": {
        const { service, key } = invocation.facts.target;
        if (invocation.waitsFor === "slot") {
          noteSlot(invocation);
          break;
        }
        if (ledger.locks.holder(`${service}/${key}`) === undefined && !pausedQueues.has(queueOfLock(service, key ?? "")))
          missing.push(`${generation.id} is inboxed, but no invocation holds ${service}/${key}`);
        break;
      }
      case "scheduled":
        missing.push(`${generation.id} is still scheduled`);
        break;
      case "ready":
        noteSlot(invocation);
        break;
      case "invoked":
      case "paused":
        break; // Running is bounded by timeouts; a pause is ended by an operator.
    }
  }
  return missing;
}

function signalsOf(awaiting: Future): SignalId[] {
  return [
    ...waitingSignals(awaiting).map((index): SignalId => ({ kind: "signalIndex", index })),
    ...waitingNamedSignals(awaiting).map((name): SignalId => ({ kind: "signalName", name })),
  ];
}

/** Returns why the completion will never come; undefined when it may. */
function missingCause(ledger: Ledger, generation: GenerationRecord, completionId: number): string | undefined {
  const expected = generation.expectedCompletions.get(completionId);
  if (expected === undefined) return "no command of its journal expects it";
  switch (expected.notificationType) {
    case MessageType.GetPromiseCompletion:
      return promiseCause(ledger, generation, completionId);
    case MessageType.CallCompletion:
    case MessageType.AttachInvocationCompletion: {
      const to = awaitedInvocation(generation, completionId, expected.commandType);
      const callee = to === undefined ? undefined : ledger.generation(to);
      if (callee === undefined || callee.invocation.status === "completed") return `${to} is over`;
      const listed = callee.invocation.sinks.some(
        (sink) => sink.callerId === generation.id && sink.completionId === completionId,
      );
      return listed ? undefined : `${to} does not list it`;
    }
    default:
      return `a ${messageTypeName(expected.notificationType)} does not take that long`;
  }
}

/** The invariants check listeners of a pending promise; a completed one must have notified all. */
function promiseCause(ledger: Ledger, generation: GenerationRecord, completionId: number): string | undefined {
  const { service, key = "" } = generation.facts.target;
  for (const entry of generation.entries) {
    const command = entry.type === MessageType.GetPromise ? decodeCommand(entry.type, entry.body) : undefined;
    if (command === undefined || isFault(command) || command.kind !== "getPromise" || command.resultCompletionId !== completionId)
      continue;
    return ledger.promiseIsCompleted(service, key, command.key) ? `promise ${command.key} is completed` : undefined;
  }
  return undefined;
}

function awaitedInvocation(generation: GenerationRecord, completionId: number, commandType: number): InvocationId | undefined {
  for (const entry of generation.entries) {
    if (commandType === MessageType.Call && entry.type === MessageType.CallInvocationIdCompletion) {
      const decoded = decodeNotification(entry.type, entry.body);
      // The simulated handlers number the id of a callee right before its result.
      if (isFault(decoded) || decoded.id.kind !== "completion" || decoded.id.id !== completionId - 1) continue;
      if (decoded.result.kind === "invocationId") return decoded.result.invocationId as InvocationId;
    }
    if (commandType === MessageType.AttachInvocation && entry.type === commandType) {
      const command = decodeCommand(entry.type, entry.body);
      if (isFault(command) || command.kind !== "attachInvocation" || command.resultCompletionId !== completionId) continue;
      return attachedInvocation(command.target);
    }
  }
  return undefined;
}
