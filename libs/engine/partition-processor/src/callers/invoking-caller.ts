/** A caller that submitted an invocation. */
import type { InvocationId } from "@perdure/base";
import type { InvokeObserver } from "@perdure/control";
import type { CommandAnswer } from "@perdure/state-machine";
import type { AnswerReceiver } from "../turn/mailbox-message.js";
import { OutcomeCaller } from "./outcome-caller.js";
import type { Waiters } from "./waiters.js";

export class InvokingCaller extends OutcomeCaller<InvokeObserver> implements AnswerReceiver<CommandAnswer> {
  readonly #waitsForOutcome: boolean;

  constructor(waiters: Waiters, id: InvocationId, waitsForOutcome: boolean, observer: InvokeObserver) {
    super(waiters, id, observer);
    this.#waitsForOutcome = waitsForOutcome;
  }

  answered(answer: CommandAnswer): void {
    this.waiters.answered(this);
    const { observer } = this;
    if (observer === undefined) return;
    switch (answer.kind) {
      case "accepted":
        if (this.#waitsForOutcome) this.waitForOutcome();
        return observer.submitted(undefined);
      case "previouslyAccepted":
        observer.submitted(answer.invocation);
        if (this.#waitsForOutcome && this.observer !== undefined) this.waitFor(answer.invocation);
        return;
      case "throttled":
      case "throttleKeysFull":
        if (observer.throttled === undefined) return this.unavailable(`unexpected answer ${answer.kind}`);
        this.withdrawn();
        return observer.throttled(answer);
      default:
        return this.unavailable(`unexpected answer ${answer.kind}`);
    }
  }
}
