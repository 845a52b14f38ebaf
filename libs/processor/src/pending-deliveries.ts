/** Why: whoever sent us a message waits to hear that it is durable here, or that it never will be: one of the two, once. */
import type { MailboxMessageOf } from "./mailbox-message.js";

export class PendingDeliveries {
  /** Neither durable nor refused. */
  readonly #messages = new Set<MailboxMessageOf<"delivery">>();

  add(message: MailboxMessageOf<"delivery">): void {
    this.#messages.add(message);
  }

  delivered(message: MailboxMessageOf<"delivery">): void {
    if (this.#messages.delete(message)) message.delivered();
  }

  /** The message stays with its sender, who brings it to whoever leads then. */
  refuse(message: MailboxMessageOf<"delivery">): void {
    if (this.#messages.delete(message)) message.undelivered();
  }

  refuseAll(concerns: (message: MailboxMessageOf<"delivery">) => boolean): void {
    for (const message of this.#messages) if (concerns(message)) this.refuse(message);
  }
}
