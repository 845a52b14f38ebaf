/** The data of one partition that is led here, and the index that returns it by partition number or invocation id. */
import { type InvariantError, type InvocationId, partitionOf, type Ring } from "@perdure/base";
import type { Outbox } from "./outbox/outbox.js";
import type { MailboxMessage } from "./turn/mailbox-message.js";
import type { LiveView } from "./view/live-view.js";
import type { RowCache } from "./view/row-cache.js";

export interface LeaderPartition {
  readonly view: LiveView;
  /** Cached rows of a store behind a network. */
  readonly cache: RowCache | undefined;
  readonly epoch: number;
  readonly outbox: Outbox;
  /** Mailbox messages that wait until rows are loaded; undefined while nothing is being loaded. */
  blocked: Ring<MailboxMessage> | undefined;
  /** Set when an invariant was violated: the partition rejects all requests until the process is restarted. */
  stopped: InvariantError | undefined;
}

export class LeaderPartitionTable {
  readonly #byPartition = new Map<number, LeaderPartition>();
  readonly #partitionCount: number;

  constructor(partitionCount: number) {
    this.#partitionCount = partitionCount;
  }

  add(leader: LeaderPartition): void {
    this.#byPartition.set(leader.view.partition, leader);
  }

  partitionOf(id: InvocationId): number {
    return partitionOf(id, this.#partitionCount);
  }

  get(partition: number): LeaderPartition | undefined {
    return this.#byPartition.get(partition);
  }

  of(id: InvocationId): LeaderPartition | undefined {
    return this.#byPartition.get(partitionOf(id, this.#partitionCount));
  }

  values(): IterableIterator<LeaderPartition> {
    return this.#byPartition.values();
  }
}
