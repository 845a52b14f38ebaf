/** What consuming needs: somewhere records come from, and somebody who takes each of them once. */
import type { Courier } from "@perdure/control";

/** A record of a topic, owned by whoever receives it. */
export interface SourceRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since 1970; undefined when the record has none. */
  readonly timestampMs: number | undefined;
  readonly key: Uint8Array | undefined;
  /** Empty for a tombstone. */
  readonly value: Uint8Array;
  /** Header `traceparent` of whoever sent it. */
  readonly traceparent?: string | undefined;
  /** Headers `x-restate-scope` and `x-restate-limit-key`. */
  readonly scope?: string | undefined;
  readonly limitKey?: string | undefined;
}

/** How far a consumer is in one topic partition. */
export interface ConsumerPosition {
  readonly partition: number;
  /** The next offset to be handled. */
  readonly next: number;
  /** Records behind `next` that nobody has handled yet, as the broker said last. */
  readonly lag: number;
}

/** A topic partition is left alone until `over` resolves; others go on. It then begins with what was not handled. */
export interface TopicPartitionPause {
  readonly over: Promise<void>;
}

export interface RecordReceiver {
  /**
   * Records of one topic partition, ascending. Resolves with undefined when all are handled for good, with a rest when one cannot be
   * handled now; `handled` is called in order as they become so. Rejects soon with the signal's reason when it is aborted: the
   * partition may be another consumer's from then on.
   */
  take(
    records: readonly SourceRecord[],
    handled: (offset: number) => void,
    signal: AbortSignal,
  ): Promise<TopicPartitionPause | undefined>;
  /** Of a partition that is assigned; others are dropped. */
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

/** Joined a group. Disposing leaves it: what is being taken is given up, what was handled is committed. */
export type RecordConsumer = AsyncDisposable;

export interface RecordSource {
  /** Rejects when the properties make no sense; a cluster that cannot be reached is reported through `failed`. */
  open(options: ConsumerOptions, receiver: RecordReceiver): Promise<RecordConsumer>;
}

/** Takes records into their partitions. */
export interface Deliveries extends Courier {
  /** How many partitions the environment has. */
  readonly partitionCount: number;
}
