/**
 * Keeps a consumer running for every subscription: starts, stops and restarts them as the registry changes, retries failed ones, and
 * reports the progress of each and the record that blocks it.
 */
import {
  Backoff,
  backoffMs,
  type Clock,
  causeMessage,
  type InvocationId,
  type Logger,
  present,
  type Random,
  type SubscriptionId,
  type TimerHandle,
} from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { Registry, SubscriptionRecord } from "@perdure/metadata";
import type { Invoke, Target, TraceContext } from "@perdure/state-machine";
import { invocationOfRecord, PoisonRecord, producerOf } from "./invocation-of-record.js";
import { HEALTHY_MS, REASON_CHARS_MAX, RESTART_BOUNDS } from "./limits.js";
import { offerInOrder } from "./offer.js";
import type {
  ConsumerPosition,
  Deliveries,
  RecordConsumer,
  RecordReceiver,
  RecordSource,
  SourceRecord,
  TopicPartitionPause,
} from "./ports.js";

interface SubscriptionsPorts {
  readonly registry: Pick<Registry, "subscriptions" | "kafkaCluster" | "onChange"> & RegistryView;
  readonly source: RecordSource;
  readonly deliveries: Deliveries;
  readonly clock: Clock;
  /** Source of the random pauses between tries. */
  readonly random?: Random | undefined;
  readonly logger: Logger;
  /** Whether headers of records set scope and limit key; false by default. */
  readonly scopesEnabled?: boolean | undefined;
  /** Gives the invocation of a record its trace. */
  readonly traceRecord?: TraceRecord | undefined;
}

/** A record became an invocation of this id and target. */
type TraceRecord = (record: SourceRecord, id: InvocationId, target: Target) => TraceContext | undefined;

/** Counts of records since this process started, over all subscriptions. */
interface RecordCounts {
  readonly invoked: number;
  /** Number of records that an operator skipped. */
  readonly skipped: number;
  /** Number of failures to turn a record into an invocation. */
  readonly stuck: number;
}

/** A record that cannot become an invocation. */
export interface StuckRecord {
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
}

/** State of a subscription in this process; other processes may consume other partitions of its topic. */
export interface SubscriptionStatus {
  readonly id: SubscriptionId;
  readonly state: "starting" | "consuming" | "backingOff" | "paused" | "noCluster";
  readonly assigned: readonly number[];
  readonly positions: readonly ConsumerPosition[];
  /** The record that blocks the lowest partition, if several are blocked. */
  readonly stuck: StuckRecord | undefined;
  /** The error after which the subscription backs off, in all partitions or in one. */
  readonly lastFailure: string | undefined;
  readonly nextRetryAtMs: number | undefined;
  /** Records that became invocations since this process started. */
  readonly handledCount: number;
}

export interface Subscriptions extends AsyncDisposable {
  /** Starts to consume. Before that there are no statuses. */
  start(): void;
  statuses(): readonly SubscriptionStatus[];
  counts(): RecordCounts;
}

/** Consumes at once. */
export function runSubscriptions(ports: SubscriptionsPorts): Subscriptions {
  const subscriptions = createSubscriptions(ports);
  subscriptions.start();
  return subscriptions;
}

export function createSubscriptions(ports: SubscriptionsPorts): Subscriptions {
  const running = new Map<SubscriptionId, Runner>();
  const ending = new Set<Promise<void>>();
  const counts = { invoked: 0, skipped: 0, stuck: 0 };
  const end = (runner: Runner): void => {
    const ended = runner.stop().finally(() => ending.delete(ended));
    ending.add(ended);
  };
  const follow = (): void => {
    const desired = new Map(ports.registry.subscriptions().map((record) => [record.id, record]));
    for (const [id, runner] of running) {
      const record = desired.get(id);
      if (record !== undefined && runner.serves(record)) {
        runner.tryAgain(); // A missing handler may be registered now.
        continue;
      }
      running.delete(id);
      end(runner);
    }
    for (const [id, record] of desired) if (!running.has(id)) running.set(id, new Runner(ports, record, counts));
  };
  let stopFollowing = (): void => undefined;
  return {
    start() {
      follow();
      stopFollowing = ports.registry.onChange(follow);
    },
    statuses: () => [...running.values()].map((runner) => runner.status()),
    counts: () => ({ ...counts }),
    async [Symbol.asyncDispose]() {
      stopFollowing();
      for (const runner of running.values()) end(runner);
      running.clear();
      await Promise.all(ending);
    },
  };
}

type Counting = { -readonly [K in keyof RecordCounts]: RecordCounts[K] };

/** A topic partition that pauses because of a record. */
interface Resting {
  readonly record: StuckRecord;
  /** Ends the pause early. */
  readonly wake: () => void;
  readonly failures: number;
  readonly nextRetryAtMs: number;
}

class Runner implements RecordReceiver {
  readonly #ports: SubscriptionsPorts;
  readonly #counts: Counting;
  readonly #record: SubscriptionRecord;
  readonly #properties: Readonly<Record<string, string>> | undefined;
  readonly #aborting = new AbortController();
  #consumer: Promise<RecordConsumer> | undefined;
  #restart: TimerHandle | undefined;
  readonly #backoff: Backoff;
  #startedAtMs = 0;
  #state: SubscriptionStatus["state"] = "starting";
  #assigned: readonly number[] = [];
  #positions = new Map<number, ConsumerPosition>();
  /** Records that wait for another attempt, by partition; an entry stays until its record is handled or skipped. */
  readonly #resting = new Map<number, Resting>();
  #lastFailure: string | undefined;
  #nextRetryAtMs: number | undefined;
  #handledCount = 0;
  #isStopped = false;

  constructor(ports: SubscriptionsPorts, record: SubscriptionRecord, counts: Counting) {
    this.#ports = ports;
    this.#backoff = new Backoff(RESTART_BOUNDS, ports.random);
    this.#counts = counts;
    this.#record = record;
    this.#properties = propertiesOf(ports, record);
    if (record.paused) this.#state = "paused";
    else if (this.#properties === undefined) this.#say("noCluster", "the Kafka cluster of this subscription is gone");
    else this.#start();
  }

  /** Whether the present consumer can stay. Records skipped meanwhile are looked up when they are consumed. */
  serves(record: SubscriptionRecord): boolean {
    return (
      record.paused === this.#record.paused &&
      JSON.stringify(propertiesOf(this.#ports, record)) === JSON.stringify(this.#properties)
    );
  }

  tryAgain(): void {
    for (const { wake } of this.#resting.values()) wake();
  }

  status(): SubscriptionStatus {
    const [stuck] = [...this.#resting.values()].sort((a, b) => a.record.partition - b.record.partition);
    return {
      id: this.#record.id,
      state: stuck !== undefined && this.#state === "consuming" ? "backingOff" : this.#state,
      assigned: this.#assigned,
      positions: [...this.#positions.values()],
      stuck: stuck?.record,
      lastFailure: stuck?.record.reason ?? this.#lastFailure,
      nextRetryAtMs: this.#nextRetryAtMs ?? stuck?.nextRetryAtMs,
      handledCount: this.#handledCount,
    };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#restart?.cancel();
    this.#aborting.abort(new Error("the subscription is stopping"));
    this.tryAgain();
    await this.#close();
  }

  // ── callbacks of the consumer ───────────────────────────────────────────────────────────────────

  async take(
    records: readonly SourceRecord[],
    handled: (offset: number) => void,
    signal: AbortSignal,
  ): Promise<TopicPartitionPause | undefined> {
    const [first] = records;
    if (first === undefined) return undefined;
    const { clock, deliveries, registry, traceRecord, scopesEnabled = false } = this.#ports;
    this.#state = "consuming";
    const skipped = new Set<number>();
    const invocationOf = (record: SourceRecord): Invoke | undefined => {
      if (!this.#isSkipped(record)) {
        const context = { registry: registry.current(), nowMs: clock.nowMs(), scopesEnabled };
        const invoke = invocationOfRecord(this.#record, record, context);
        if (traceRecord === undefined) return invoke;
        return { ...invoke, facts: { ...invoke.facts, trace: traceRecord(record, invoke.id, invoke.facts.target) } };
      }
      skipped.add(record.offset);
      return undefined;
    };
    try {
      await offerInOrder(
        { deliveries, clock, producer: producerOf(this.#record, first), invocationOf },
        records,
        (offset) => {
          this.#handledCount++;
          if (skipped.delete(offset)) this.#counts.skipped++;
          else this.#counts.invoked++;
          const resting = this.#resting.get(first.partition);
          if (resting !== undefined && offset >= resting.record.offset) this.#resting.delete(first.partition);
          handled(offset);
        },
        AbortSignal.any([signal, this.#aborting.signal]),
      );
      return undefined;
    } catch (cause) {
      if (cause instanceof PoisonRecord) return this.#rest(cause);
      throw cause;
    }
  }

  position(position: ConsumerPosition): void {
    if (this.#assigned.includes(position.partition)) this.#positions.set(position.partition, position);
  }

  assigned(partitions: readonly number[]): void {
    this.#state = "consuming";
    this.#assigned = partitions;
    const isGone = (partition: number): boolean => !partitions.includes(partition);
    for (const partition of this.#positions.keys()) if (isGone(partition)) this.#positions.delete(partition);
    for (const [partition, { wake }] of this.#resting) {
      if (!isGone(partition)) continue;
      this.#resting.delete(partition);
      wake();
    }
  }

  failed(cause: unknown): void {
    if (this.#isStopped || this.#restart !== undefined) return;
    const { clock, logger } = this.#ports;
    if (clock.monotonicMs() - this.#startedAtMs > HEALTHY_MS) this.#backoff.reset();
    const pauseMs = this.#backoff.next();
    const reason = reasonOf(cause);
    logger.warn({ subscriptionId: this.#record.id, pauseMs, reason }, "a subscription stopped consuming; trying again");
    this.#lastFailure = reason;
    this.#nextRetryAtMs = clock.nowMs() + pauseMs;
    this.assigned([]);
    this.#state = "backingOff";
    this.#restart = clock.setTimer(pauseMs, () => {
      this.#restart = undefined;
      this.#close().then(
        () => this.#start(),
        (closing: unknown) => this.failed(closing),
      );
    });
  }

  /** The partition of a record that cannot become an invocation is tried again after a while, or when the registry changes. */
  #rest({ record, message }: PoisonRecord): TopicPartitionPause {
    const { clock, random, logger } = this.#ports;
    const { partition, offset } = record;
    const before = this.#resting.get(partition);
    const failures = before?.record.offset === offset ? before.failures + 1 : 0;
    const pauseMs = backoffMs(failures, RESTART_BOUNDS, random);
    const stuck: StuckRecord = { partition, offset, reason: message };
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = clock.setTimer(pauseMs, resolve);
    const wake = (): void => {
      timer.cancel();
      resolve();
    };
    this.#counts.stuck++;
    this.#resting.set(partition, { record: stuck, wake, failures, nextRetryAtMs: clock.nowMs() + pauseMs });
    const facts = { subscriptionId: this.#record.id, pauseMs, ...stuck };
    if (failures === 0) logger.warn(facts, "a record cannot be handled; its topic partition waits for it");
    else logger.debug(facts, "a record still cannot be handled");
    if (this.#isStopped) wake();
    return { over };
  }

  // ── lifecycle ───────────────────────────────────────────────────────────────────────────────────

  #start(): void {
    if (this.#isStopped || this.#properties === undefined) return;
    this.#state = "starting";
    this.#nextRetryAtMs = undefined;
    this.#startedAtMs = this.#ports.clock.monotonicMs();
    const consumer = this.#ports.source.open({ properties: this.#properties, topic: topicOf(this.#record) }, this);
    this.#consumer = consumer;
    consumer.catch((cause: unknown) => {
      this.#consumer = undefined;
      this.failed(cause);
    });
  }

  async #close(): Promise<void> {
    const consumer = this.#consumer;
    this.#consumer = undefined;
    if (consumer === undefined) return;
    const opened = await consumer.catch(() => undefined); // A failure to open was reported already.
    await opened?.[Symbol.asyncDispose]();
  }

  #isSkipped({ partition, offset }: SourceRecord): boolean {
    const present = this.#ports.registry.subscriptions().find(({ id }) => id === this.#record.id);
    return present?.skipped.some((each) => each.partition === partition && each.offset === offset) ?? false;
  }

  #say(state: SubscriptionStatus["state"], reason: string): void {
    this.#state = state;
    this.#lastFailure = reason;
    this.#ports.logger.warn({ subscriptionId: this.#record.id, reason }, "a subscription cannot consume");
  }
}

/** The cluster's properties, overridden by the subscription's; undefined when the cluster was removed. */
function propertiesOf({ registry }: SubscriptionsPorts, { source, options }: SubscriptionRecord) {
  const cluster = registry.kafkaCluster(present(source.slice("kafka://".length).split("/", 1)[0]));
  return cluster === undefined ? undefined : { ...cluster.properties, ...options };
}

function topicOf({ source }: SubscriptionRecord): string {
  const place = source.slice("kafka://".length);
  return place.slice(place.indexOf("/") + 1);
}

function reasonOf(cause: unknown): string {
  return causeMessage(cause).slice(0, REASON_CHARS_MAX);
}
