/** Dependencies and options of a processor. */
import type { Clock, Logger, PerdureError } from "@perdure/base";
import type { Invoker, InvokerHost } from "@perdure/invoker";
import type { JournalEntry, Outcome } from "@perdure/state-machine";
import type { Archive, AsyncPartitionStore, PartitionStore } from "@perdure/storage";
import type { EventSubscriptionSource } from "./event-subscriptions.js";
import type { RuleSource } from "./flow/flow-control.js";
import type { OutboxPeers } from "./outbox/outbox.js";
import type { TrafficCounters } from "./traffic/traffic-counters.js";
import type { StateTtlSource } from "./view/live-state-ttls.js";

/** `I`: what the caller knows about the invoker that it builds. */
export interface ProcessorPorts<I extends Invoker = Invoker> {
  /** Counters to add to; processors of one worker share them. New ones by default. */
  readonly counters?: ProcessorCounters;
  readonly metrics?: ProcessorMetrics | undefined;
  readonly store: PartitionStore | AsyncPartitionStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs a task after the I/O callbacks of this round (`setImmediate`), so that one turn takes all that arrived together. */
  readonly soon: (task: () => void) => void;
  /** Builds the invoker when the processor accepts messages. */
  readonly invoker: (host: InvokerHost) => I;
  /** Rules of flow control. */
  readonly rules: RuleSource;
  /** Subscriptions to events of invocations; without it there are none. */
  readonly events?: EventSubscriptionSource | undefined;
  /** Times to live of state; without it only objects have them. */
  readonly stateTtls?: StateTtlSource | undefined;
  /**
   * Called when a batch with large payloads is durable, and when large states or entries were read for an attempt, with their bytes:
   * these and their copies are garbage now or soon.
   */
  readonly largeGarbage?: ((bytes: number) => void) | undefined;
  /** The archive of completed invocations; only with a store behind a network. */
  readonly archive?: Archive;
  /** Delivers messages to partitions that are led elsewhere. */
  readonly peers: OutboxPeers;
  /** Leadership of a partition was lost: the processor has stopped. */
  readonly onFenced: (partition: number) => void;
  /** The store failed, so durability is no longer guaranteed. The processor has stopped. */
  readonly onFatal: (error: PerdureError) => void;
}

export interface ProcessorOptions {
  /** Partitions to lead; more than one only on a store with `sharedBatch`. */
  readonly partitions: readonly number[];
  /** Number of partitions of the environment. */
  readonly partitionCount: number;
  /** Interval between checks of the retention timers. */
  readonly cleanupIntervalMs: number;
  /** Bytes per partition of what is kept to undo changes; 0, the default: nothing is kept. */
  readonly undoBytesMax?: number | undefined;
  /** Throttle keys that each partition stores at most; `THROTTLE_KEYS_MAX` by default. */
  readonly throttleKeysMax?: number | undefined;
  /** Leads only to answer requests: nothing is run, fired or delivered until the processor leads again without this option. */
  readonly isSuspended?: boolean;
  /** The former leader ended its attempts before it released the partitions; otherwise their attempts may still run. */
  readonly isHandedOver?: boolean;
}

/** Receives measurements within the turn: implementations must be cheap and must not throw. */
export interface ProcessorMetrics {
  /** A batch is durable, was refused because another worker leads, or failed with an unknown result. */
  committed(result: "written" | "fenced" | "failed", durationMs: number): void;
  /** An entry of a batch that is about to be written. */
  appended(entry: JournalEntry): void;
  timerFired(latenessMs: number): void;
  completed(outcome: Outcome): void;
}

/** Counters for metrics; all rise only. */
export interface ProcessorCounters {
  commands: number;
  commits: number;
  mutations: number;
  completed: number;
  /** Records of undo that were deleted early because of their bound. */
  undoDropped: number;
  /** Objects whose state was deleted at the end of its time to live. */
  statesExpired: number;
  /** Invocations over time. */
  readonly traffic: TrafficCounters;
}
