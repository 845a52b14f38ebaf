/** The kinds of messages in the mailbox of a processor. */
import type { InvocationId } from "@perdure/base";
import type { CommandAnswer, Completed, Invocation, PartitionCommand } from "@perdure/state-machine";
import type { ArchivedGeneration, ArchiveRecord } from "@perdure/storage";

/** Receives the answer to a message, once, when everything that the answer says is durable. */
export interface AnswerReceiver<T> {
  answered(answer: T): void;
}

/** A message in the mailbox. */
export type MailboxMessage =
  | {
      readonly kind: "command";
      readonly command: PartitionCommand;
      readonly receiver: AnswerReceiver<CommandAnswer> | undefined;
    }
  /** A message from another partition's outbox, at least once. */
  | {
      readonly kind: "delivery";
      readonly command: PartitionCommand;
      readonly producer: string;
      readonly seq: number;
      /** The message is accepted only when this one of the same producer was. */
      readonly after: number | undefined;
      readonly delivered: () => void;
      readonly undelivered: () => void;
    }
  /** Returns the invocation when its present state is durable. */
  | { readonly kind: "inspect"; readonly id: InvocationId; readonly receiver: AnswerReceiver<Invocation | undefined> }
  | { readonly kind: "barrier"; readonly passed: () => void }
  /** Invocations that were archived leave the store, unless they changed since. */
  | {
      readonly kind: "evict";
      readonly partition: number;
      readonly records: readonly ArchiveRecord[];
      readonly evicted: (count: number) => void;
    }
  /** The archive has deleted these generations: their notes are deleted. */
  | { readonly kind: "deletedFromArchive"; readonly partition: number; readonly generations: readonly ArchivedGeneration[] }
  /** Generations that the archive has, read to collect their ids; the last message has `isAll`. */
  | {
      readonly kind: "learnt";
      readonly partition: number;
      readonly generations: readonly ArchivedGeneration[];
      readonly isAll: boolean;
      /** Called when the next page is welcome. */
      readonly accepted: () => void;
    }
  /** The commands about an archived invocation have been applied. */
  | { readonly kind: "hide"; readonly invocation: Completed; readonly entryCount: number }
  /** Deletes acknowledged outbox messages. */
  | { readonly kind: "acknowledged"; readonly partition: number; readonly seq: number };

export type MailboxMessageOf<K extends MailboxMessage["kind"]> = MailboxMessage & { readonly kind: K };

/** Payload bytes that a message holds; small payloads count as zero. */
export function bytesOf(message: MailboxMessage): number {
  if (message.kind !== "command") return 0;
  const { command } = message;
  if (command.kind === "invoke") return command.input.length;
  return command.kind === "appendCommand" || command.kind === "proposeRun" ? command.body.length : 0;
}
