/**
 * A group member that hands batches to its receiver and commits what was handled, in order and never more. A record that
 * cannot be handled ends the consumer; whoever owns it starts another, which begins behind the last commit.
 */
import { type Logger, PerdureError } from "@perdure/base";
import type { ConsumerOptions, RecordConsumer, RecordReceiver, SourceRecord } from "@perdure/subscription";
import kafkajs, { type Consumer, type EachBatchPayload, type KafkaMessage, type LogEntry } from "kafkajs";
import { knowAllCodecs } from "./compression.js";
import { COMMIT_MS, HEARTBEAT_MS, LEAVE_TIMEOUT_MS, PARTITIONS_AT_ONCE_MAX } from "./limits.js";
import { clientSettings } from "./properties.js";
import type { KafkaPorts } from "./record-source.js";

let knowsCodecs = false;

/** Begins to join; rejects when the properties cannot be what they are. */
export async function openMember(options: ConsumerOptions, receiver: RecordReceiver, ports: KafkaPorts): Promise<RecordConsumer> {
  if (!knowsCodecs) knowAllCodecs();
  knowsCodecs = true;
  const settings = clientSettings(options.properties);
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
  const member = new Member(kafka.consumer(settings.consumer), options, receiver, ports);
  // Joining may take long where brokers are away: the caller hears of that through `failed`.
  member.join(settings.fromBeginning);
  return member;
}

class Member implements RecordConsumer {
  readonly #consumer: Consumer;
  readonly #options: ConsumerOptions;
  readonly #receiver: RecordReceiver;
  readonly #ports: KafkaPorts;
  #isLeaving = false;
  #joined: Promise<void> | undefined;

  constructor(consumer: Consumer, options: ConsumerOptions, receiver: RecordReceiver, ports: KafkaPorts) {
    this.#consumer = consumer;
    this.#options = options;
    this.#receiver = receiver;
    this.#ports = ports;
    const { GROUP_JOIN, CRASH } = consumer.events;
    consumer.on(GROUP_JOIN, ({ payload }) => receiver.assigned(payload.memberAssignment[options.topic] ?? []));
    // Also what was thrown while handling a batch.
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

  async #handle({
    batch,
    resolveOffset,
    heartbeat,
    commitOffsetsIfNecessary,
    isRunning,
    isStale,
  }: EachBatchPayload): Promise<void> {
    if (!isRunning() || isStale()) return;
    const { partition, highWatermark } = batch;
    const records = batch.messages.map((message) => recordOf(batch.topic, partition, message));
    let isBeating = true;
    const beat = (): void => {
      if (!isBeating) return;
      heartbeat()
        .then(() => commitOffsetsIfNecessary())
        .then(
          () => this.#ports.clock.setTimer(HEARTBEAT_MS, beat),
          (cause: unknown) => this.#ports.logger.debug({ partition, reason: String(cause) }, "a heartbeat failed"),
        );
    };
    const first = this.#ports.clock.setTimer(HEARTBEAT_MS, beat);
    try {
      await this.#receiver.take(records, (offset) => {
        resolveOffset(String(offset));
        const next = offset + 1;
        this.#receiver.position({ partition, next, lag: Math.max(0, Number(highWatermark) - next) });
      });
    } finally {
      isBeating = false;
      first.cancel();
    }
    // Offsets of aborted transactions and deleted records: nothing is in between.
    if (records.length === batch.messages.length) resolveOffset(batch.lastOffset());
    await heartbeat();
  }

  #fail(cause: unknown): void {
    if (!this.#isLeaving) this.#receiver.failed(rootOf(cause));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    const { clock, logger } = this.#ports;
    let isLate = false;
    const late = new Promise<void>((resolve) => {
      const timer = clock.setTimer(LEAVE_TIMEOUT_MS, () => {
        isLate = true;
        resolve();
      });
      const left = async (): Promise<void> => {
        await this.#consumer.disconnect();
        await this.#joined;
      };
      left()
        .catch((cause: unknown) => logger.debug({ reason: String(cause) }, "leaving a consumer group failed"))
        .finally(() => {
          timer.cancel();
          resolve();
        });
    });
    await late;
    if (isLate) logger.warn({ topic: this.#options.topic }, "a consumer group was not left in time; the broker will notice");
  }
}

function recordOf(topic: string, partition: number, { offset, timestamp, key, value }: KafkaMessage): SourceRecord {
  const timestampMs = Number(timestamp);
  return {
    topic,
    partition,
    offset: Number(offset),
    timestampMs: Number.isFinite(timestampMs) && timestampMs >= 0 ? timestampMs : undefined,
    key: key === null ? undefined : new Uint8Array(key),
    value: value === null ? NOTHING : new Uint8Array(value),
  };
}
const NOTHING = new Uint8Array(0);

/** kafkajs wraps what a handler threw when it gives up. */
function rootOf(cause: unknown): unknown {
  let root = cause;
  while (root instanceof Error && root.cause !== undefined && root.name.startsWith("KafkaJS")) root = root.cause;
  return root;
}

function log(logger: Logger, { namespace, label, log: { message, ...fields } }: LogEntry): void {
  const where = { component: "kafkajs", namespace, level: label, error: fields["error"], groupId: fields["groupId"] };
  // What matters to people is reported by the subscription; the client's own words help to find out why.
  logger.debug(where, message);
}
