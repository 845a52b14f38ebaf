/** Callers that wait in memory for the outcome of an invocation: ingress requests, attached or just submitted. */
import type { InvocationId } from "@perdure/base";
import type { Outcome } from "@perdure/partition";

export interface Waiter {
  completed(outcome: Outcome): void;
  unavailable(reason: string): void;
}

/** Somebody who has asked something and must hear an answer, or that there will be none. */
export interface Asker {
  unavailable(reason: string): void;
}

export class Waiters {
  readonly #byId = new Map<InvocationId, Waiter | Set<Waiter>>();
  /** By what they have asked about. */
  readonly #asking = new Map<Asker, InvocationId>();

  get isEmpty(): boolean {
    return this.#byId.size === 0 && this.#asking.size === 0;
  }

  /** From now on until `answered`, the asker hears when no answer can come any more. */
  ask(id: InvocationId, asker: Asker): void {
    this.#asking.set(asker, id);
  }

  answered(asker: Asker): void {
    this.#asking.delete(asker);
  }

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

  /** Neither answer nor outcome will come from here for the ids that `concerns`. */
  abandon(concerns: (id: InvocationId) => boolean, reason: string): void {
    for (const [asker, id] of [...this.#asking]) {
      if (!concerns(id)) continue;
      this.#asking.delete(asker);
      asker.unavailable(reason);
    }
    for (const id of [...this.#byId.keys()]) {
      if (concerns(id)) for (const waiter of this.#take(id)) waiter.unavailable(reason);
    }
  }

  #take(id: InvocationId): readonly Waiter[] {
    const present = this.#byId.get(id);
    if (present === undefined) return [];
    this.#byId.delete(id);
    return present instanceof Set ? [...present] : [present];
  }
}
