/**
 * Delivers messages of one partition, and the invocations made of a topic's records, to a leader elsewhere: at least once, accepted
 * once, in order. A courier makes one attempt; the sender keeps what is not accepted, and offers it again.
 */
import type { PartitionCommand } from "@perdure/state-machine";

/** A command with its place in its producer's sequence. */
export interface Delivery {
  readonly command: PartitionCommand;
  readonly producer: string;
  /** Rises from delivery to delivery of a producer; the same number is the same command. */
  readonly seq: number;
  /**
   * The previous delivery to the same partition: the partition accepts this one only when it has that one. Undefined: this is the
   * first.
   */
  readonly after: number | undefined;
}

export interface Courier {
  /**
   * Calls exactly one of the two: `delivered` when the command and its number are durable (now, or by an earlier delivery),
   * `undelivered` when it may be offered again.
   */
  deliver(delivery: Delivery, delivered: () => void, undelivered: () => void): void;
}
