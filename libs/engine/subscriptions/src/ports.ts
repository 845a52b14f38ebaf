/** Ports of consuming: a source of records, and partitions that accept each record once. */
import type { Courier } from "@perdure/control";

/** A record of a topic, owned by the receiver. */
export interface SourceRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since 1970; undefined when the record has none. */
  readonly timestampMs: number | undefined;
  readonly key: Uint8Array | undefined;
  /** Empty for a tombstone. */
  readonly value: Uint8Array;
  /** Header `traceparent` of the record's sender. */
  readonly traceparent?: string | undefined;
  /** Headers `x-restate-scope` and `x-restate-limit-key`. */
  readonly scope?: string | undefined;
  readonly limitKey?: string | undefined;
}

/** Position of a consumer in one topic partition. */
export interface ConsumerPosition {
  readonly partition: number;
  /** The next offset to be handled. */
  readonly next: number;
  /** Number of records behind `next` that are not handled yet, as the broker last reported. */
  readonly lag: number;
}

/** Suspends a topic partition until `over` resolves; others continue. It then begins with the first record that was not handled. */
export interface TopicPartitionPause {
  readonly over: Promise<void>;
}

export interface RecordReceiver {
  /**
   * Takes records of one topic partition, ascending. Resolves with undefined when all are handled for good, with a pause when one
   * cannot be handled now; `handled` is called in order as records are handled. Rejects soon with the signal's reason when it is
   * aborted: another consumer may own the partition from then on.
   */
  take(
    records: readonly SourceRecord[],
    handled: (offset: number) => void,
    signal: AbortSignal,
  ): Promise<TopicPartitionPause | undefined>;
  /** Reports the position in an assigned partition; others are dropped. */
  position(position: ConsumerPosition): void;
  /** Partitions that this consumer reads now. */
  assigned(partitions: readonly number[]): void;
  /** The consumer has stopped by itself. */
  failed(cause: unknown): void;
}

export interface ConsumerOptions {
  /** Client properties in librdkafka's names, with secrets. `group.id` is among them. */
  readonly properties: Readonly<Record<string, string>>;
  readonly topic: string;
}

/** Membership in a group. Disposing leaves the group: records being offered are abandoned, handled ones are committed. */
export type RecordConsumer = AsyncDisposable;

export interface RecordSource {
  /** Rejects when the properties make no sense; a cluster that cannot be reached is reported through `failed`. */
  open(options: ConsumerOptions, receiver: RecordReceiver): Promise<RecordConsumer>;
}

/** Delivers records to their partitions. */
export interface Deliveries extends Courier {
  /** Number of partitions of the environment. */
  readonly partitionCount: number;
}
