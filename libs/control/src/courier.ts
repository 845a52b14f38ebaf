/**
 * Why: what one partition owes another, and what a topic's records become, must reach a leader elsewhere at least once, be taken once,
 * and in order. A courier makes one attempt; whoever sends keeps what is not taken, and offers it again.
 */
import type { PartitionCommand } from "@perdure/partition";

/** A command with its place in its producer's sequence. */
export interface Delivery {
  readonly command: PartitionCommand;
  readonly producer: string;
  /** Rises from delivery to delivery of a producer; the same number is the same command. */
  readonly seq: number;
  /** What the same partition was sent just before: it takes this one only when it has that one. Undefined: begin here. */
  readonly after: number | undefined;
}

export interface Courier {
  /**
   * Exactly one of the two is called: the command and its number are durable (now, or by an earlier delivery), or it may be
   * offered again.
   */
  deliver(delivery: Delivery, delivered: () => void, undelivered: () => void): void;
}
