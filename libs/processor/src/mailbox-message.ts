/** Why: whatever happens to a partition waits in one mailbox, and whatever follows from it waits for one commit; these are its kinds. */
import type { InvocationId } from "@perdure/base";
import type { CommandAnswer, Completed, Effect, Invocation, PartitionCommand } from "@perdure/partition";
import type { ArchivedGeneration, ArchiveRecord } from "@perdure/store";

/** What waits in the mailbox. */
export type MailboxMessage =
  | {
      readonly kind: "command";
      readonly command: PartitionCommand;
      readonly reply: ((answer: CommandAnswer) => void) | undefined;
    }
  /** A message from another partition's outbox, at least once. */
  | {
      readonly kind: "delivery";
      readonly command: PartitionCommand;
      readonly producer: string;
      readonly seq: number;
      /** Taken only when this one of the same producer is here. */
      readonly after: number | undefined;
      readonly delivered: () => void;
      readonly undelivered: () => void;
    }
  /** What is known of an invocation, told when it is durable. */
  | { readonly kind: "inspect"; readonly id: InvocationId; readonly reply: (invocation: Invocation | undefined) => void }
  | { readonly kind: "barrier"; readonly passed: () => void }
  /** What was put into the archive leaves the store, if it is what it was then. */
  | {
      readonly kind: "evict";
      readonly partition: number;
      readonly records: readonly ArchiveRecord[];
      readonly evicted: (count: number) => void;
    }
  /** The archive has forgotten these lives: their notes go. */
  | { readonly kind: "deletedFromArchive"; readonly partition: number; readonly generations: readonly ArchivedGeneration[] }
  /** Lives that the archive has, as far as it was read to learn their ids; the last one says that these were all. */
  | {
      readonly kind: "learnt";
      readonly partition: number;
      readonly generations: readonly ArchivedGeneration[];
      readonly isAll: boolean;
      /** There is room for the next ones. */
      readonly accepted: () => void;
    }
  /** The commands about an archived invocation have been applied. */
  | { readonly kind: "hide"; readonly invocation: Completed; readonly entryCount: number }
  /** Deletes acknowledged outbox messages. */
  | { readonly kind: "acknowledged"; readonly partition: number; readonly seq: number };

export type MailboxMessageOf<K extends MailboxMessage["kind"]> = MailboxMessage & { readonly kind: K };

/** Something to do once the batch is durable. */
export type PostCommitAction =
  | { readonly effect: Effect; readonly reply: ((answer: CommandAnswer) => void) | undefined }
  | (() => void);

/** Payload a letter holds; small ones count as nothing. */
export function bytesOf(message: MailboxMessage): number {
  if (message.kind !== "command") return 0;
  const { command } = message;
  if (command.kind === "invoke") return command.input.length;
  return command.kind === "appendCommand" || command.kind === "proposeRun" ? command.body.length : 0;
}

export const NOTHING = (): void => undefined;
