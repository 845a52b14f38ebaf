/** Why: topics, schedules and rules of flow control: each a small resource with the usual verbs. */
import { z } from "zod";
import { type CallOptions, type Door, segment } from "./door.js";
import { ADMIN_REQUEST_MS } from "./limits.js";
import {
  firedShape,
  type KafkaClusterView,
  kafkaClusterListShape,
  kafkaClusterShape,
  nextTimesShape,
  type RuleChange,
  type RuleView,
  ruleListShape,
  type ScheduleView,
  type SubscriptionStatus,
  type SubscriptionView,
  scheduleListShape,
  scheduleShape,
  subscriptionListShape,
  subscriptionShape,
  subscriptionStatusShape,
} from "./resource-shapes.js";

const withinMs = ADMIN_REQUEST_MS;

export class KafkaClusters {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  async list({ signal }: CallOptions = {}): Promise<readonly KafkaClusterView[]> {
    return (await this.#door.ask(kafkaClusterListShape, "GET", "/kafka-clusters", { signal, withinMs })).clusters;
  }

  get(name: string, { signal }: CallOptions = {}): Promise<KafkaClusterView> {
    return this.#door.ask(kafkaClusterShape, "GET", `/kafka-clusters/${segment(name)}`, { signal, withinMs });
  }

  create(name: string, properties: Readonly<Record<string, string>>, { signal }: CallOptions = {}): Promise<KafkaClusterView> {
    return this.#door.ask(kafkaClusterShape, "POST", "/kafka-clusters", { json: { name, properties }, signal, withinMs });
  }

  /** Replaces all properties; secrets that were shown as `***` keep their values. */
  update(name: string, properties: Readonly<Record<string, string>>, { signal }: CallOptions = {}): Promise<KafkaClusterView> {
    return this.#door.ask(kafkaClusterShape, "PATCH", `/kafka-clusters/${segment(name)}`, {
      json: { properties },
      signal,
      withinMs,
    });
  }

  async remove(name: string, force: boolean, { signal }: CallOptions = {}): Promise<void> {
    await this.#door.tell("DELETE", `/kafka-clusters/${segment(name)}`, { query: { force }, signal, withinMs });
  }
}

export class Subscriptions {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  async list({ signal }: CallOptions = {}): Promise<readonly SubscriptionView[]> {
    return (await this.#door.ask(subscriptionListShape, "GET", "/subscriptions", { signal, withinMs })).subscriptions;
  }

  get(id: string, { signal }: CallOptions = {}): Promise<SubscriptionView> {
    return this.#door.ask(subscriptionShape, "GET", `/subscriptions/${segment(id)}`, { signal, withinMs });
  }

  /** `kafka://<cluster>/<topic>` to `service://<Service>/<handler>`. */
  create(
    source: string,
    sink: string,
    options: Readonly<Record<string, string>>,
    { signal }: CallOptions = {},
  ): Promise<SubscriptionView> {
    return this.#door.ask(subscriptionShape, "POST", "/subscriptions", { json: { source, sink, options }, signal, withinMs });
  }

  async remove(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#door.tell("DELETE", `/subscriptions/${segment(id)}`, { signal, withinMs });
  }

  status(id: string, { signal }: CallOptions = {}): Promise<SubscriptionStatus> {
    return this.#door.ask(subscriptionStatusShape, "GET", `/subscriptions/${segment(id)}/status`, { signal, withinMs });
  }

  setPaused(id: string, paused: boolean, { signal }: CallOptions = {}): Promise<SubscriptionStatus> {
    const path = `/subscriptions/${segment(id)}/${paused ? "pause" : "resume"}`;
    return this.#door.ask(subscriptionStatusShape, "POST", path, { signal, withinMs });
  }

  /** Leaves a record out. */
  skip(id: string, record: { partition: number; offset: number }, { signal }: CallOptions = {}): Promise<SubscriptionStatus> {
    return this.#door.ask(subscriptionStatusShape, "POST", `/subscriptions/${segment(id)}/skip`, {
      json: record,
      signal,
      withinMs,
    });
  }
}

export class Schedules {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  async list(
    query: { service?: string; status?: string; name?: string } = {},
    { signal }: CallOptions = {},
  ): Promise<readonly ScheduleView[]> {
    return (await this.#door.ask(scheduleListShape, "GET", "/schedules", { query, signal, withinMs })).schedules;
  }

  get(id: string, { signal }: CallOptions = {}): Promise<ScheduleView> {
    return this.#door.ask(scheduleShape, "GET", `/schedules/${segment(id)}`, { signal, withinMs });
  }

  /** Fields as in docs/schedules.md. */
  create(fields: Readonly<Record<string, unknown>>, { signal }: CallOptions = {}): Promise<ScheduleView> {
    return this.#door.ask(scheduleShape, "POST", "/schedules", { json: fields, signal, withinMs });
  }

  /** Everything it says; refused with 409 when it has another version by now. */
  replace(
    id: string,
    fields: Readonly<Record<string, unknown>>,
    version: number,
    { signal }: CallOptions = {},
  ): Promise<ScheduleView> {
    const request = { json: fields, query: { expected_version: version }, signal, withinMs };
    return this.#door.ask(scheduleShape, "PUT", `/schedules/${segment(id)}`, request);
  }

  async remove(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#door.tell("DELETE", `/schedules/${segment(id)}`, { signal, withinMs });
  }

  setPaused(id: string, paused: boolean, { signal }: CallOptions = {}): Promise<ScheduleView> {
    return this.#door.ask(scheduleShape, "POST", `/schedules/${segment(id)}/${paused ? "pause" : "resume"}`, {
      signal,
      withinMs,
    });
  }

  /** Fires now; resolves with the invocation. */
  async run(
    id: string,
    idempotencyKey: string | undefined,
    { signal }: CallOptions = {},
  ): Promise<{ invocationId: string; isNew: boolean }> {
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    const fired = await this.#door.ask(firedShape, "POST", `/schedules/${segment(id)}/run`, { headers, signal, withinMs });
    return { invocationId: fired.invocation_id, isNew: fired.status === "Accepted" };
  }

  /** In UTC and as the clock in its zone shows them. */
  async next(id: string, count: number, { signal }: CallOptions = {}): Promise<readonly { at: string; local: string }[]> {
    return (await this.#door.ask(nextTimesShape, "GET", `/schedules/${segment(id)}/next`, { query: { count }, signal, withinMs }))
      .next;
  }
}

export class Rules {
  readonly #door: Door;

  constructor(door: Door) {
    this.#door = door;
  }

  /** All of them or none. */
  put(changes: readonly RuleChange[], { signal }: CallOptions = {}): Promise<readonly RuleView[]> {
    return this.#door.ask(ruleListShape, "PUT", "/limits/rules", { json: changes, signal, withinMs });
  }

  /** Resolves with those that were there. */
  remove(patterns: readonly string[], { signal }: CallOptions = {}): Promise<readonly string[]> {
    const json = patterns.map((pattern) => ({ pattern }));
    return this.#door.ask(z.array(z.string()), "POST", "/limits/rules/bulk-delete", { json, signal, withinMs });
  }

  async setQueuePaused(id: string, paused: boolean, { signal }: CallOptions = {}): Promise<void> {
    await this.#door.tell("POST", `/vqueues/${segment(id)}/${paused ? "pause" : "resume"}`, { signal, withinMs });
  }
}
