/** The messages that wait for the next turns, in the order of their arrival. */
import { Ring } from "@perdure/base";
import { MAILBOX_BYTES_MAX, MAILBOX_COMMANDS_MAX } from "../limits.js";
import { bytesOf, type MailboxMessage } from "./mailbox-message.js";

export class Mailbox implements Iterable<MailboxMessage> {
  readonly #messages = new Ring<MailboxMessage>();
  #bytes = 0;

  /** Whether new work should be refused for now. */
  get isFull(): boolean {
    return this.#messages.length >= MAILBOX_COMMANDS_MAX || this.#bytes >= MAILBOX_BYTES_MAX;
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  push(message: MailboxMessage): void {
    this.#messages.push(message);
    this.#bytes += bytesOf(message);
  }

  shift(): MailboxMessage | undefined {
    const message = this.#messages.shift();
    if (message !== undefined) this.#bytes -= bytesOf(message);
    return message;
  }

  clear(): void {
    this.#messages.clear();
    this.#bytes = 0;
  }

  [Symbol.iterator](): Iterator<MailboxMessage> {
    return this.#messages[Symbol.iterator]();
  }
}
