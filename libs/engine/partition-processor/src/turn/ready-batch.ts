/**
 * What a turn leaves behind, as one value: the mutations to write, and the actions to perform once these are durable. While one `ReadyBatch`
 * is being written, the next gathers in the views and in `PartitionGroup.actions`.
 */
import { present } from "@perdure/base";
import type { CommandAnswer, Effect, Invocation, OutboxMessage } from "@perdure/state-machine";
import type { PartitionBatch } from "@perdure/storage";
import type { LeaderPartition } from "../leader-partition.js";
import { LARGE_PAYLOAD_BYTES } from "../limits.js";
import type { PartitionGroup } from "../partition-group.js";
import type { AnswerReceiver, MailboxMessageOf } from "./mailbox-message.js";

/** An action that is performed when everything applied before it is durable. */
export type PostCommitAction =
  /** `receiver` waits for the answer to the command that had this effect. */
  | {
      readonly kind: "effect";
      readonly leader: LeaderPartition;
      readonly effect: Effect;
      readonly receiver: AnswerReceiver<CommandAnswer> | undefined;
    }
  | { readonly kind: "send"; readonly leader: LeaderPartition; readonly message: OutboxMessage; readonly to: number }
  | { readonly kind: "confirmDelivery"; readonly message: MailboxMessageOf<"delivery"> }
  | {
      readonly kind: "answerInspection";
      readonly message: MailboxMessageOf<"inspect">;
      readonly invocation: Invocation | undefined;
    }
  | { readonly kind: "passBarrier"; readonly message: MailboxMessageOf<"barrier"> }
  | { readonly kind: "confirmEviction"; readonly message: MailboxMessageOf<"evict">; readonly count: number }
  /** The store has the note that this generation was deleted. */
  | { readonly kind: "noteDeletion"; readonly leader: LeaderPartition; readonly name: string };

export interface ReadyBatch {
  /** One for each partition with mutations; none when only actions were left. */
  readonly batches: readonly PartitionBatch[];
  /** The leaders of the batches, in the same order. */
  readonly leaders: readonly LeaderPartition[];
  readonly actions: readonly PostCommitAction[];
  readonly mutationCount: number;
  /** Bytes of large payloads in the batches. */
  readonly largeBytes: number;
}

/** Takes over everything applied since the last call. */
export function takeReadyBatch(group: PartitionGroup): ReadyBatch {
  const { metrics } = group.ports;
  const batches: PartitionBatch[] = [];
  const leaders: LeaderPartition[] = [];
  let mutationCount = 0;
  let largeBytes = 0;
  for (const leader of group.leaders.values()) {
    const { view, partition, epoch } = leader;
    if (view.mutationCount === 0) continue;
    const mutations = view.seal();
    mutationCount += mutations.length;
    for (const each of mutations) {
      if (each.kind !== "appendEntry") continue;
      metrics?.appended(each.entry);
      // Outcomes and states are views of the bytes of their journal entries.
      if (each.entry.body.length >= LARGE_PAYLOAD_BYTES) largeBytes += each.entry.body.length;
    }
    batches.push({ partition, epoch, mutations });
    leaders.push(leader);
  }
  return { batches, leaders, actions: group.takeActions(), mutationCount, largeBytes };
}

/** The batches of `ready` are durable: the views and caches of their partitions take them over. */
export function markDurable({ batches, leaders }: ReadyBatch): void {
  for (const [index, leader] of leaders.entries()) {
    leader.cache?.applyDurable(present(batches[index]).mutations);
    leader.view.markDurable();
  }
}
