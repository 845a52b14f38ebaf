/** Callers that wait in memory for the outcome of an invocation: ingress requests, attached or just submitted. */
import type { InvocationId } from "@perdure/base";
import type { Outcome } from "@perdure/state-machine";

export interface OutcomeWaiter {
  completed(outcome: Outcome): void;
  unavailable(reason: string): void;
}

/** A caller that must get a response, or be notified that there will be none. */
export interface PendingReply {
  unavailable(reason: string): void;
}

export class Waiters {
  readonly #byId = new Map<InvocationId, OutcomeWaiter | Set<OutcomeWaiter>>();
  /** Pending replies, with the invocation that each is about. */
  readonly #pendingReplies = new Map<PendingReply, InvocationId>();

  get isEmpty(): boolean {
    return this.#byId.size === 0 && this.#pendingReplies.size === 0;
  }

  /** Registers a caller: until `answered` it is notified when no response can come any more. */
  expectReply(id: InvocationId, pendingReply: PendingReply): void {
    this.#pendingReplies.set(pendingReply, id);
  }

  answered(pendingReply: PendingReply): void {
    this.#pendingReplies.delete(pendingReply);
  }

  /** Reports to a caller that no partition here accepted its request. */
  refuse(pendingReply: PendingReply, reason: string): void {
    this.answered(pendingReply);
    pendingReply.unavailable(reason);
  }

  add(id: InvocationId, waiter: OutcomeWaiter): void {
    const present = this.#byId.get(id);
    if (present === undefined) this.#byId.set(id, waiter);
    else if (present instanceof Set) present.add(waiter);
    else this.#byId.set(id, new Set([present, waiter]));
  }

  remove(id: InvocationId, waiter: OutcomeWaiter): void {
    const present = this.#byId.get(id);
    if (present === waiter) this.#byId.delete(id);
    else if (present instanceof Set && present.delete(waiter) && present.size === 0) this.#byId.delete(id);
  }

  announce(id: InvocationId, outcome: Outcome): void {
    for (const waiter of this.#take(id)) waiter.completed(outcome);
  }

  /** Notifies all callers that neither a reply nor an outcome will come. */
  abandonAll(reason: string): void {
    this.abandonWhere(() => true, reason);
  }

  /** The same for the callers of one invocation. */
  abandon(id: InvocationId, reason: string): void {
    this.abandonWhere((each) => each === id, reason);
  }

  /** The same for the callers of the ids that `concerns` selects. */
  abandonWhere(concerns: (id: InvocationId) => boolean, reason: string): void {
    for (const [pendingReply, id] of [...this.#pendingReplies]) {
      if (!concerns(id)) continue;
      this.#pendingReplies.delete(pendingReply);
      pendingReply.unavailable(reason);
    }
    for (const id of [...this.#byId.keys()]) {
      if (concerns(id)) for (const waiter of this.#take(id)) waiter.unavailable(reason);
    }
  }

  #take(id: InvocationId): readonly OutcomeWaiter[] {
    const present = this.#byId.get(id);
    if (present === undefined) return [];
    this.#byId.delete(id);
    return present instanceof Set ? [...present] : [present];
  }
}
