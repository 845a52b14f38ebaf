/** Durable promises of a workflow key: read, peeked at, completed once. Waiting invocations are listed with the promise. */
import { encodeNotification, MessageType, voidResult } from "@perdure/service-protocol";
import { resultOf } from "../invocation/outcome.js";
import { generationMark, type Invoked, type Outcome } from "../invocation.js";
import { completeAtOnce } from "../journal/append.js";
import { keyspaceOf } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

const ALREADY_COMPLETED = {
  kind: "failure",
  failure: { code: 409, message: "promise was already completed", metadata: [] },
} as const;

/** Completes the command now, or when the promise is completed; `thenAck` as in `completeAtOnce`. True when completed now. */
export function getPromise(
  view: PartitionView,
  invocation: Invoked,
  name: string,
  completionId: number,
  thenAck: number | undefined,
  out: Transition,
): boolean {
  const { target } = invocation.facts;
  const service = keyspaceOf(target);
  const key = target.key ?? "";
  const promise = view.promise(service, key, name);
  if (promise?.kind === "completed") {
    completeAtOnce(view, out, invocation, MessageType.GetPromiseCompletion, completionId, resultOf(promise.outcome), thenAck);
    return true;
  }
  const listeners = [
    ...(promise?.listeners ?? []),
    { id: invocation.facts.id, generation: generationMark(invocation.facts), completionId },
  ];
  out.mutate({ kind: "putPromise", service, key, name, promise: { kind: "pending", listeners } });
  return false;
}

export function peekPromise(
  view: PartitionView,
  invocation: Invoked,
  name: string,
  completionId: number,
  thenAck: number | undefined,
  out: Transition,
): void {
  const { target } = invocation.facts;
  const service = keyspaceOf(target);
  const key = target.key ?? "";
  const promise = view.promise(service, key, name);
  const result = promise?.kind === "completed" ? resultOf(promise.outcome) : voidResult;
  completeAtOnce(view, out, invocation, MessageType.PeekPromiseCompletion, completionId, result, thenAck);
}

/** Completes a promise. The first completion wins; later ones get a failure. */
export function completePromise(
  view: PartitionView,
  invocation: Invoked,
  name: string,
  outcome: Outcome,
  completionId: number,
  thenAck: number | undefined,
  out: Transition,
): void {
  const { target } = invocation.facts;
  const service = keyspaceOf(target);
  const key = target.key ?? "";
  const promise = view.promise(service, key, name);
  if (promise?.kind === "completed") {
    completeAtOnce(view, out, invocation, MessageType.CompletePromiseCompletion, completionId, ALREADY_COMPLETED, thenAck);
    return;
  }
  out.mutate({ kind: "putPromise", service, key, name, promise: { kind: "completed", outcome } });
  completeAtOnce(view, out, invocation, MessageType.CompletePromiseCompletion, completionId, voidResult, thenAck);
  for (const listener of promise?.listeners ?? []) {
    const body = encodeNotification({ kind: "completion", id: listener.completionId }, resultOf(outcome));
    out.send({ kind: "notify", id: listener.id, generation: listener.generation, type: MessageType.GetPromiseCompletion, body });
  }
}
