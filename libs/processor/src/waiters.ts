/** Callers that wait in memory for the outcome of an invocation: ingress requests, attached or just submitted. */
import type { InvocationId } from "@perdure/base";
import type { Outcome } from "@perdure/partition";

export interface Waiter {
  completed(outcome: Outcome): void;
  unavailable(reason: string): void;
}

export class Waiters {
  readonly #byId = new Map<InvocationId, Waiter | Set<Waiter>>();

  add(id: InvocationId, waiter: Waiter): void {
    const present = this.#byId.get(id);
    if (present === undefined) this.#byId.set(id, waiter);
    else if (present instanceof Set) present.add(waiter);
    else this.#byId.set(id, new Set([present, waiter]));
  }

  remove(id: InvocationId, waiter: Waiter): void {
    const present = this.#byId.get(id);
    if (present === waiter) this.#byId.delete(id);
    else if (present instanceof Set && present.delete(waiter) && present.size === 0) this.#byId.delete(id);
  }

  announce(id: InvocationId, outcome: Outcome): void {
    for (const waiter of this.#take(id)) waiter.completed(outcome);
  }

  abandon(id: InvocationId, reason: string): void {
    for (const waiter of this.#take(id)) waiter.unavailable(reason);
  }

  abandonAll(reason: string): void {
    for (const id of [...this.#byId.keys()]) this.abandon(id, reason);
  }

  ids(): readonly InvocationId[] {
    return [...this.#byId.keys()];
  }

  #take(id: InvocationId): readonly Waiter[] {
    const present = this.#byId.get(id);
    if (present === undefined) return [];
    this.#byId.delete(id);
    return present instanceof Set ? [...present] : [present];
  }
}
