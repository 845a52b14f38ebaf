/**
 * Virtual queues: a service's calls under one limit key of a scope, or the calls that share an object's lock. A paused queue starts no
 * new invocation. A queue may be paused before it has its first entry, so a pause refers to the queue's id only.
 */
import { type InvocationId, type VqueueId, vqueueId } from "@perdure/base";
import type { PauseQueue, ResumeQueue } from "../command.js";
import type { InvocationFacts } from "../invocation.js";
import { handOver } from "../lock/lock.js";
import type { Target } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { PAUSED_QUEUES_MAX } from "./limits.js";

/** Prefix of the text form of queue ids; it has the partition key first and the same body as an invocation id. */
const QUEUE_PREFIX = "vq_1";
const INVOCATION_PREFIX = "inv_1";

/** Returns an id in the form of an invocation id that routes a command about a queue to its partition. */
export function routeOfQueue(queue: VqueueId): InvocationId {
  return (INVOCATION_PREFIX + queue.slice(QUEUE_PREFIX.length)) as InvocationId;
}

export function queueOfScope(target: Target & { readonly scope: string }, limitKey: string | undefined): VqueueId {
  return vqueueId({ service: target.service, scope: target.scope, limitKey, lockKey: undefined });
}

export function queueOfLock(service: string, key: string): VqueueId {
  return vqueueId({ service, scope: undefined, limitKey: undefined, lockKey: key });
}

/** Whether the queue of a scoped invocation is paused. */
export function isScopePaused(view: PartitionView, { target, limitKey }: InvocationFacts): boolean {
  if (view.pausedQueueCount === 0 || target.scope === undefined) return false;
  return view.queuePause(queueOfScope({ ...target, scope: target.scope }, limitKey)) !== undefined;
}

export function pauseQueue(view: PartitionView, command: PauseQueue, out: Transition): void {
  const { id, queue } = command;
  if (view.queuePause(queue) === undefined) {
    if (view.pausedQueueCount >= PAUSED_QUEUES_MAX) return out.effect({ kind: "reply", answer: { kind: "tooManyPauses" } });
    out.mutate({ kind: "putPause", queue, pause: { pausedAtMs: out.nowMs, lock: undefined } });
    out.effect({ kind: "queueSwitched", id, queue, paused: true });
  }
  out.effect({ kind: "reply", answer: { kind: "done" } });
}

export function resumeQueue(view: PartitionView, command: ResumeQueue, out: Transition): void {
  const { id, queue } = command;
  const pause = view.queuePause(queue);
  if (pause !== undefined) {
    out.mutate({ kind: "deletePause", queue });
    out.effect({ kind: "queueSwitched", id, queue, paused: false });
    if (pause.lock !== undefined) handOver(view, pause.lock.service, pause.lock.key, out);
  }
  out.effect({ kind: "reply", answer: { kind: "done" } });
}
