/** A caller that waits for the outcome of an invocation until it has it or detaches. */
import type { InvocationId } from "@perdure/base";
import type { Completion, Detach } from "@perdure/control";
import { expiresAtMs, type Invocation, type Outcome } from "@perdure/state-machine";
import type { OutcomeWaiter, PendingReply, Waiters } from "./waiters.js";

/** The part of an observer that receives the end of the wait. */
export interface OutcomeObserver {
  completed(completion: Completion): void;
  unavailable(reason: string): void;
}

export abstract class OutcomeCaller<O extends OutcomeObserver> implements OutcomeWaiter, PendingReply, Detach {
  protected readonly waiters: Waiters;
  /** Undefined when it has received the end of the wait, or has detached. */
  protected observer: O | undefined;
  /** The invocation whose outcome it waits for. */
  #id: InvocationId;

  constructor(waiters: Waiters, id: InvocationId, observer: O) {
    this.waiters = waiters;
    this.#id = id;
    this.observer = observer;
  }

  completed(outcome: Outcome): void {
    this.#end()?.completed({ outcome, expiresAtMs: undefined });
  }

  unavailable(reason: string): void {
    this.#end()?.unavailable(reason);
  }

  detach(): void {
    if (this.#end() === undefined) return;
    this.waiters.answered(this);
    this.waiters.remove(this.#id, this);
  }

  /** No outcome will be reported. */
  protected withdrawn(): void {
    this.#end();
  }

  /** Publishes a stored result at once, and a later one when it arrives. */
  protected waitFor(invocation: Invocation): void {
    this.#id = invocation.facts.id; // A debounced send may have become an earlier invocation.
    if (invocation.status !== "completed") return this.waitForOutcome();
    this.#end()?.completed({ outcome: invocation.outcome, expiresAtMs: expiresAtMs(invocation) });
  }

  protected waitForOutcome(): void {
    this.waiters.add(this.#id, this);
  }

  /** Returns the observer, which is called for the last time. */
  #end(): O | undefined {
    const { observer } = this;
    this.observer = undefined;
    return observer;
  }
}
