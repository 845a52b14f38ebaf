/**
 * Keeps a consumer running for every subscription there is: starts, stops and restarts them as the registry changes, tries again
 * when one fails, and knows how far each is and what it is stuck at.
 */
import type { Clock, Logger, SubscriptionId, TimerHandle } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { Registry, SubscriptionRecord } from "@perdure/metadata";
import { invocationOfRecord, PoisonRecord, producerOf } from "./invocation-of-record.js";
import { HEALTHY_MS, REASON_CHARS_MAX, RESTART_FIRST_MS, RESTART_LONGEST_MS } from "./limits.js";
import { offerInOrder } from "./offer.js";
import type { Deliveries, Position, RecordConsumer, RecordReceiver, RecordSource, SourceRecord } from "./ports.js";

export interface SubscriptionsPorts {
  readonly registry: Pick<Registry, "subscriptions" | "kafkaCluster" | "onChange"> & RegistryView;
  readonly source: RecordSource;
  readonly deliveries: Deliveries;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A record that cannot become an invocation. */
export interface StuckRecord {
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
}

/** What this process knows of a subscription; other processes may read other partitions of its topic. */
export interface SubscriptionStatus {
  readonly id: SubscriptionId;
  readonly state: "starting" | "consuming" | "backingOff" | "paused" | "noCluster";
  readonly assigned: readonly number[];
  readonly positions: readonly Position[];
  readonly stuck: StuckRecord | undefined;
  /** Why it is backing off. */
  readonly lastFailure: string | undefined;
  readonly nextRetryAtMs: number | undefined;
  /** Records that became invocations since this process started. */
  readonly handledCount: number;
}

export interface Subscriptions extends AsyncDisposable {
  statuses(): readonly SubscriptionStatus[];
}

export function runSubscriptions(ports: SubscriptionsPorts): Subscriptions {
  const running = new Map<SubscriptionId, Runner>();
  const ending = new Set<Promise<void>>();
  const end = (runner: Runner): void => {
    const ended = runner.stop().finally(() => ending.delete(ended));
    ending.add(ended);
  };
  const follow = (): void => {
    const wanted = new Map(ports.registry.subscriptions().map((record) => [record.id, record]));
    for (const [id, runner] of running) {
      const record = wanted.get(id);
      if (record !== undefined && runner.serves(record)) continue;
      running.delete(id);
      end(runner);
    }
    for (const [id, record] of wanted) if (!running.has(id)) running.set(id, new Runner(ports, record));
  };
  follow();
  const stopFollowing = ports.registry.onChange(follow);
  return {
    statuses: () => [...running.values()].map((runner) => runner.status()),
    async [Symbol.asyncDispose]() {
      stopFollowing();
      for (const runner of running.values()) end(runner);
      running.clear();
      await Promise.all(ending);
    },
  };
}

class Runner implements RecordReceiver {
  readonly #ports: SubscriptionsPorts;
  readonly #record: SubscriptionRecord;
  readonly #properties: Readonly<Record<string, string>> | undefined;
  readonly #aborting = new AbortController();
  #consumer: Promise<RecordConsumer> | undefined;
  #restart: TimerHandle | undefined;
  #failures = 0;
  #startedAtMs = 0;
  #state: SubscriptionStatus["state"] = "starting";
  #assigned: readonly number[] = [];
  #positions = new Map<number, Position>();
  #stuck: StuckRecord | undefined;
  #lastFailure: string | undefined;
  #nextRetryAtMs: number | undefined;
  #handledCount = 0;
  #isStopped = false;

  constructor(ports: SubscriptionsPorts, record: SubscriptionRecord) {
    this.#ports = ports;
    this.#record = record;
    this.#properties = propertiesOf(ports, record);
    if (record.paused) this.#state = "paused";
    else if (this.#properties === undefined) this.#say("noCluster", "the Kafka cluster of this subscription is gone");
    else this.#start();
  }

  /** Whether nothing changed that would need another consumer. Records skipped meanwhile are looked up when they come. */
  serves(record: SubscriptionRecord): boolean {
    return (
      record.paused === this.#record.paused &&
      JSON.stringify(propertiesOf(this.#ports, record)) === JSON.stringify(this.#properties)
    );
  }

  status(): SubscriptionStatus {
    return {
      id: this.#record.id,
      state: this.#state,
      assigned: this.#assigned,
      positions: [...this.#positions.values()],
      stuck: this.#stuck,
      lastFailure: this.#lastFailure,
      nextRetryAtMs: this.#nextRetryAtMs,
      handledCount: this.#handledCount,
    };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#restart?.cancel();
    this.#aborting.abort(new Error("the subscription is stopping"));
    await this.#close();
  }

  // ── what the consumer says ─────────────────────────────────────────────────────────────────────

  async take(records: readonly SourceRecord[], handled: (offset: number) => void): Promise<void> {
    const [first] = records;
    if (first === undefined) return;
    const { clock, deliveries, registry } = this.#ports;
    this.#state = "consuming";
    try {
      await offerInOrder(
        {
          deliveries,
          clock,
          producer: producerOf(this.#record, first),
          invocationOf: (record) =>
            this.#isSkipped(record) ? undefined : invocationOfRecord(this.#record, record, registry.current(), clock.nowMs()),
        },
        records,
        (offset) => {
          this.#handledCount++;
          if (this.#stuck?.partition === first.partition && offset >= this.#stuck.offset) this.#stuck = undefined;
          handled(offset);
        },
        this.#aborting.signal,
      );
    } catch (cause) {
      if (cause instanceof PoisonRecord) {
        const { partition, offset } = cause.record;
        this.#stuck = { partition, offset, reason: cause.message };
      }
      throw cause;
    }
  }

  position(position: Position): void {
    this.#positions.set(position.partition, position);
  }

  assigned(partitions: readonly number[]): void {
    this.#state = "consuming";
    this.#assigned = partitions;
    for (const partition of this.#positions.keys()) if (!partitions.includes(partition)) this.#positions.delete(partition);
  }

  failed(cause: unknown): void {
    if (this.#isStopped || this.#restart !== undefined) return;
    const { clock, logger } = this.#ports;
    if (clock.monotonicMs() - this.#startedAtMs > HEALTHY_MS) this.#failures = 0;
    const pauseMs = Math.min(RESTART_FIRST_MS * 2 ** this.#failures++, RESTART_LONGEST_MS);
    const reason = reasonOf(cause);
    const subscriptionId = this.#record.id;
    logger.warn({ subscriptionId, pauseMs, reason, stuck: this.#stuck }, "a subscription stopped consuming; trying again");
    this.#state = "backingOff";
    this.#lastFailure = reason;
    this.#nextRetryAtMs = clock.nowMs() + pauseMs;
    this.#assigned = [];
    this.#restart = clock.setTimer(pauseMs, () => {
      this.#restart = undefined;
      this.#close().then(
        () => this.#start(),
        (closing: unknown) => this.failed(closing),
      );
    });
  }

  // ── its life ───────────────────────────────────────────────────────────────────────────────────

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
    const opened = await consumer.catch(() => undefined); // What could not be opened has been reported.
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

/** The cluster's properties with the subscription's own over them; undefined when the cluster is gone. */
function propertiesOf({ registry }: SubscriptionsPorts, { source, options }: SubscriptionRecord) {
  const cluster = registry.kafkaCluster(source.slice("kafka://".length).split("/", 1)[0] as string);
  return cluster === undefined ? undefined : { ...cluster.properties, ...options };
}

function topicOf({ source }: SubscriptionRecord): string {
  const place = source.slice("kafka://".length);
  return place.slice(place.indexOf("/") + 1);
}

function reasonOf(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).slice(0, REASON_CHARS_MAX);
}
