/** The data of one partition that is led here, and the index that returns it by partition number or invocation id. */
import { type InvariantError, type InvocationId, partitionOf, type Ring } from "@perdure/base";
import type { TimerGroup } from "@perdure/storage";
import type { ArchiveNotes } from "./archive/archive-notes.js";
import type { PartitionFlow } from "./flow/flow-control.js";
import type { Outbox } from "./outbox/outbox.js";
import type { MailboxMessage } from "./turn/mailbox-message.js";
import type { LiveView } from "./view/live-view.js";
import type { RowCache } from "./view/row-cache.js";

type RecoveredParts = Pick<LeaderPartition, "partition" | "epoch" | "view" | "cache" | "outbox" | "flow" | "archived">;

export class LeaderPartition {
  readonly partition: number;
  readonly epoch: number;
  /** The rows as they are after everything applied. */
  readonly view: LiveView;
  /** Cached rows of a store behind a network. */
  readonly cache: RowCache | undefined;
  readonly outbox: Outbox;
  readonly flow: PartitionFlow;
  /** Notes about the partition's rows in the archive; undefined without an archive. */
  readonly archived: ArchiveNotes | undefined;
  /** Earliest due time of the stored timers of each group, in ms since 1970; infinite when none is stored. */
  readonly nextDueAtMs: Record<TimerGroup, number> = {
    precise: Number.POSITIVE_INFINITY,
    retention: Number.POSITIVE_INFINITY,
    state: Number.POSITIVE_INFINITY,
  };
  /** Mailbox messages that wait until rows are loaded; undefined while nothing is being loaded. */
  blocked: Ring<MailboxMessage> | undefined;
  /** Set when an invariant was violated: the partition rejects all requests until the process is restarted. */
  stopped: InvariantError | undefined;

  constructor({ partition, epoch, view, cache, outbox, flow, archived }: RecoveredParts) {
    this.partition = partition;
    this.epoch = epoch;
    this.view = view;
    this.cache = cache;
    this.outbox = outbox;
    this.flow = flow;
    this.archived = archived;
  }
}

export class LeaderPartitionTable {
  readonly #byPartition = new Map<number, LeaderPartition>();
  readonly #partitionCount: number;

  constructor(partitionCount: number) {
    this.#partitionCount = partitionCount;
  }

  add(leader: LeaderPartition): void {
    this.#byPartition.set(leader.partition, leader);
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
