/** A request to a partition whose caller waits for the answer as a promise. */
import { PerdureError } from "@perdure/base";
import type { AnswerReceiver } from "../turn/mailbox-message.js";
import type { PendingReply, Waiters } from "./waiters.js";

export class PendingRequest<T> implements AnswerReceiver<T>, PendingReply {
  /** Rejects with STO0002 when no answer can come any more. */
  readonly promise: Promise<T>;
  readonly #waiters: Waiters;
  readonly #resolve: (answer: T) => void;
  readonly #reject: (reason: PerdureError) => void;

  constructor(waiters: Waiters) {
    this.#waiters = waiters;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  answered(answer: T): void {
    this.#waiters.answered(this);
    this.#resolve(answer);
  }

  unavailable(reason: string): void {
    this.#reject(new PerdureError("STO0002", reason));
  }
}
