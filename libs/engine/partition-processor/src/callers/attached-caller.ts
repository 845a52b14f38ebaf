/** A caller that attached to an invocation that was submitted before. */
import type { Invocation } from "@perdure/state-machine";
import type { AnswerReceiver } from "../turn/mailbox-message.js";
import { OutcomeCaller, type OutcomeObserver } from "./outcome-caller.js";

export interface AttachObserver extends OutcomeObserver {
  notFound(): void;
}

export class AttachedCaller extends OutcomeCaller<AttachObserver> implements AnswerReceiver<Invocation | undefined> {
  answered(invocation: Invocation | undefined): void {
    this.waiters.answered(this);
    if (this.observer === undefined) return;
    if (invocation === undefined) this.observer.notFound();
    else this.waitFor(invocation);
  }
}
