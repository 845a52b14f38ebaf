/**
 * Tracks messages received from other partitions until they are durable here or are refused: the sender gets exactly one of the two
 * responses, once.
 */
import type { MailboxMessageOf } from "../turn/mailbox-message.js";

export class PendingDeliveries {
  /** Messages that are neither durable nor refused. */
  readonly #messages = new Set<MailboxMessageOf<"delivery">>();

  add(message: MailboxMessageOf<"delivery">): void {
    this.#messages.add(message);
  }

  delivered(message: MailboxMessageOf<"delivery">): void {
    if (this.#messages.delete(message)) message.delivered();
  }

  /** The message stays with its sender, which delivers it to the next leader. */
  refuse(message: MailboxMessageOf<"delivery">): void {
    if (this.#messages.delete(message)) message.undelivered();
  }

  refuseAll(concerns: (message: MailboxMessageOf<"delivery">) => boolean): void {
    for (const message of this.#messages) if (concerns(message)) this.refuse(message);
  }
}
