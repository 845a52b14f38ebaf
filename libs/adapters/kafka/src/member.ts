/**
 * A group member that hands batches to its receiver and commits the handled offsets, in order. A partition with a record that cannot be
 * handled pauses; the others continue. When the group rebalances, batches in progress are abandoned at once: the next reader begins at the
 * last committed offset, and partition processors deduplicate records.
 */
import { type Logger, PerdureError } from "@perdure/base";
import type { ConsumerOptions, RecordConsumer, RecordReceiver, SourceRecord, TopicPartitionPause } from "@perdure/subscriptions";
import kafkajs, { type Consumer, type EachBatchPayload, type KafkaMessage, type LogEntry } from "kafkajs";
import { registerCodecs } from "./compression.js";
import { LagWatch } from "./lag.js";
import { COMMIT_MS, HEARTBEAT_MS, LEAVE_TIMEOUT_MS, PARTITIONS_AT_ONCE_MAX } from "./limits.js";
import { clientSettings } from "./properties.js";
import type { KafkaPorts } from "./record-source.js";

let hasRegisteredCodecs = false;

/** Begins to join; rejects when a property is not valid. */
export async function openMember(options: ConsumerOptions, receiver: RecordReceiver, ports: KafkaPorts): Promise<RecordConsumer> {
  if (!hasRegisteredCodecs) registerCodecs();
  hasRegisteredCodecs = true;
  const settings = clientSettings(options.properties, ports);
  const { topic } = options;
  if (topic === "") throw new PerdureError("OPS0001", "the subscription names no topic");
  if (settings.ignored.length > 0) {
    ports.logger.warn({ topic, properties: settings.ignored }, "Kafka properties without a meaning here are ignored");
  }
  const kafka = new kafkajs.Kafka({
    ...settings.kafka,
    logLevel: kafkajs.logLevel.WARN,
    logCreator: () => (entry) => log(ports.logger, entry),
  });
  const about = { topic, groupId: settings.consumer.groupId, fromBeginning: settings.fromBeginning };
  const report = receiver.position.bind(receiver);
  const lag = new LagWatch({ admin: kafka.admin(), report, ...ports }, about);
  const member = new ConsumerMember(kafka.consumer(settings.consumer), lag, options, receiver, ports);
  // Joining may take long while brokers are unavailable: the caller is notified through `failed`.
  member.join(settings.fromBeginning);
  return member;
}

class ConsumerMember implements RecordConsumer {
  readonly #consumer: Consumer;
  readonly #lag: LagWatch;
  readonly #options: ConsumerOptions;
  readonly #receiver: RecordReceiver;
  readonly #ports: KafkaPorts;
  /** Aborted at the next rebalance of the group; batches of the generation end with it. */
  #generation = new AbortController();
  #isLeaving = false;
  #joined: Promise<void> | undefined;

  constructor(consumer: Consumer, lag: LagWatch, options: ConsumerOptions, receiver: RecordReceiver, ports: KafkaPorts) {
    this.#consumer = consumer;
    this.#lag = lag;
    this.#options = options;
    this.#receiver = receiver;
    this.#ports = ports;
    const { GROUP_JOIN, CRASH } = consumer.events;
    consumer.on(GROUP_JOIN, ({ payload }) => {
      const partitions = payload.memberAssignment[options.topic] ?? [];
      this.#giveUp(new Error("the group rebalanced its partitions"));
      receiver.assigned(partitions);
      lag.assigned(partitions);
    });
    // Also errors that were thrown while a batch was handled.
    consumer.on(CRASH, ({ payload }) => this.#fail(payload.error));
  }

  join(fromBeginning: boolean): void {
    this.#joined = this.#run(fromBeginning).catch((cause: unknown) => this.#fail(cause));
  }

  async #run(fromBeginning: boolean): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topic: this.#options.topic, fromBeginning });
    if (this.#isLeaving) return;
    await this.#consumer.run({
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: PARTITIONS_AT_ONCE_MAX,
      autoCommitInterval: COMMIT_MS,
      eachBatch: (payload) => this.#handle(payload),
    });
  }

  async #handle(payload: EachBatchPayload): Promise<void> {
    const { batch, resolveOffset, heartbeat, isRunning, isStale } = payload;
    if (!isRunning() || isStale()) return;
    const { partition } = batch;
    const end = Number(batch.highWatermark);
    const { signal } = this.#generation;
    const records = batch.messages.map((message) => recordOf(batch.topic, partition, message));
    const stopBeating = this.#beat(payload);
    let rest: TopicPartitionPause | undefined;
    try {
      const handled = (offset: number): void => {
        if (signal.aborted) return; // The partition may have another owner.
        resolveOffset(String(offset));
        this.#lag.handled(partition, offset + 1, end);
      };
      rest = await this.#receiver.take(records, handled, signal);
    } finally {
      stopBeating();
    }
    if (rest === undefined) {
      resolveOffset(batch.lastOffset()); // Skips offsets of aborted transactions and deleted records, which have no records.
    } else {
      const resume = payload.pause();
      rest.over.then(resume, resume);
    }
    await heartbeat();
  }

  /** Sends heartbeats and commits while a batch is handled. A member that the group has removed stops at once. */
  #beat({ batch, heartbeat, commitOffsetsIfNecessary }: EachBatchPayload): () => void {
    const { clock, logger } = this.#ports;
    const generation = this.#generation;
    let isBeating = true;
    const beat = (): void => {
      heartbeat()
        .then(() => commitOffsetsIfNecessary())
        .then(
          () => {
            if (isBeating) timer = clock.setTimer(HEARTBEAT_MS, beat);
          },
          (cause: unknown) => {
            logger.debug({ partition: batch.partition, reason: String(cause) }, "a heartbeat failed");
            if (this.#generation === generation) this.#giveUp(cause); // kafkajs gets the error from the batch handler.
          },
        );
    };
    let timer = clock.setTimer(HEARTBEAT_MS, beat);
    return () => {
      isBeating = false;
      timer.cancel();
    };
  }

  #giveUp(reason: unknown): void {
    const generation = this.#generation;
    this.#generation = new AbortController();
    generation.abort(reason);
  }

  #fail(cause: unknown): void {
    if (!this.#isLeaving) this.#receiver.failed(rootOf(cause));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#giveUp(new Error("the consumer is leaving its group"));
    const { clock, logger } = this.#ports;
    let hasTimedOut = false;
    const leaving = new Promise<void>((resolve) => {
      const timer = clock.setTimer(LEAVE_TIMEOUT_MS, () => {
        hasTimedOut = true;
        resolve();
      });
      const left = async (): Promise<void> => {
        await Promise.all([this.#consumer.disconnect(), this.#lag[Symbol.asyncDispose]()]);
        await this.#joined;
      };
      left()
        .catch((cause: unknown) => logger.debug({ reason: String(cause) }, "leaving a consumer group failed"))
        .finally(() => {
          timer.cancel();
          resolve();
        });
    });
    await leaving;
    if (hasTimedOut)
      logger.warn(
        { topic: this.#options.topic },
        "a consumer group was not left in time; the broker removes the member after its session timeout",
      );
  }
}

function recordOf(topic: string, partition: number, { offset, timestamp, key, value, headers }: KafkaMessage): SourceRecord {
  const timestampMs = Number(timestamp);
  return {
    topic,
    partition,
    offset: Number(offset),
    timestampMs: Number.isFinite(timestampMs) && timestampMs >= 0 ? timestampMs : undefined,
    key: key === null ? undefined : new Uint8Array(key),
    value: value === null ? NOTHING : new Uint8Array(value),
    traceparent: headerOf(headers, "traceparent"),
    scope: headerOf(headers, "x-restate-scope"),
    limitKey: headerOf(headers, "x-restate-limit-key"),
  };
}

/** The text of a header; undefined unless the record has it exactly once. */
function headerOf(headers: KafkaMessage["headers"], name: string): string | undefined {
  const value = headers?.[name];
  return Buffer.isBuffer(value) || typeof value === "string" ? value.toString() : undefined;
}

const NOTHING = new Uint8Array(0);

/** The error that a handler threw: kafkajs wraps it when it gives up. */
function rootOf(cause: unknown): unknown {
  let root = cause;
  while (root instanceof Error && root.cause !== undefined && root.name.startsWith("KafkaJS")) root = root.cause;
  return root;
}

function log(logger: Logger, { namespace, label, log: { message, ...fields } }: LogEntry): void {
  const where = { component: "kafkajs", namespace, level: label, error: fields["error"], groupId: fields["groupId"] };
  // The subscription reports failures to users; messages of kafkajs are for debugging.
  logger.debug(where, message);
}
