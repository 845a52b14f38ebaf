/** Small resources: Kafka clusters, subscriptions, schedules, rules of flow control. */
import { z } from "zod";
import { type ApiCallOptions, type ApiClient, segment } from "./api-client.js";
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

export class KafkaClustersApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly KafkaClusterView[]> {
    return (await this.#api.request(kafkaClusterListShape, "GET", "/kafka-clusters", { signal, withinMs })).clusters;
  }

  get(name: string, { signal }: ApiCallOptions = {}): Promise<KafkaClusterView> {
    return this.#api.request(kafkaClusterShape, "GET", `/kafka-clusters/${segment(name)}`, { signal, withinMs });
  }

  create(name: string, properties: Readonly<Record<string, string>>, { signal }: ApiCallOptions = {}): Promise<KafkaClusterView> {
    return this.#api.request(kafkaClusterShape, "POST", "/kafka-clusters", { json: { name, properties }, signal, withinMs });
  }

  /** Replaces all properties; secrets that were shown as `***` keep their values. */
  update(name: string, properties: Readonly<Record<string, string>>, { signal }: ApiCallOptions = {}): Promise<KafkaClusterView> {
    return this.#api.request(kafkaClusterShape, "PATCH", `/kafka-clusters/${segment(name)}`, {
      json: { properties },
      signal,
      withinMs,
    });
  }

  async remove(name: string, force: boolean, { signal }: ApiCallOptions = {}): Promise<void> {
    await this.#api.send("DELETE", `/kafka-clusters/${segment(name)}`, { query: { force }, signal, withinMs });
  }
}

export class SubscriptionsApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly SubscriptionView[]> {
    return (await this.#api.request(subscriptionListShape, "GET", "/subscriptions", { signal, withinMs })).subscriptions;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<SubscriptionView> {
    return this.#api.request(subscriptionShape, "GET", `/subscriptions/${segment(id)}`, { signal, withinMs });
  }

  /** `kafka://<cluster>/<topic>` to `service://<Service>/<handler>`. */
  create(
    source: string,
    sink: string,
    options: Readonly<Record<string, string>>,
    { signal }: ApiCallOptions = {},
  ): Promise<SubscriptionView> {
    return this.#api.request(subscriptionShape, "POST", "/subscriptions", { json: { source, sink, options }, signal, withinMs });
  }

  async remove(id: string, { signal }: ApiCallOptions = {}): Promise<void> {
    await this.#api.send("DELETE", `/subscriptions/${segment(id)}`, { signal, withinMs });
  }

  status(id: string, { signal }: ApiCallOptions = {}): Promise<SubscriptionStatus> {
    return this.#api.request(subscriptionStatusShape, "GET", `/subscriptions/${segment(id)}/status`, { signal, withinMs });
  }

  setPaused(id: string, paused: boolean, { signal }: ApiCallOptions = {}): Promise<SubscriptionStatus> {
    const path = `/subscriptions/${segment(id)}/${paused ? "pause" : "resume"}`;
    return this.#api.request(subscriptionStatusShape, "POST", path, { signal, withinMs });
  }

  /** Skips a record. */
  skip(id: string, record: { partition: number; offset: number }, { signal }: ApiCallOptions = {}): Promise<SubscriptionStatus> {
    return this.#api.request(subscriptionStatusShape, "POST", `/subscriptions/${segment(id)}/skip`, {
      json: record,
      signal,
      withinMs,
    });
  }
}

export class SchedulesApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async list(
    query: { service?: string; status?: string; name?: string } = {},
    { signal }: ApiCallOptions = {},
  ): Promise<readonly ScheduleView[]> {
    return (await this.#api.request(scheduleListShape, "GET", "/schedules", { query, signal, withinMs })).schedules;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<ScheduleView> {
    return this.#api.request(scheduleShape, "GET", `/schedules/${segment(id)}`, { signal, withinMs });
  }

  /** Fields as in docs/schedules.md. */
  create(fields: Readonly<Record<string, unknown>>, { signal }: ApiCallOptions = {}): Promise<ScheduleView> {
    return this.#api.request(scheduleShape, "POST", "/schedules", { json: fields, signal, withinMs });
  }

  /** Replaces all fields; rejects with 409 when the schedule has another version now. */
  replace(
    id: string,
    fields: Readonly<Record<string, unknown>>,
    version: number,
    { signal }: ApiCallOptions = {},
  ): Promise<ScheduleView> {
    const request = { json: fields, query: { expected_version: version }, signal, withinMs };
    return this.#api.request(scheduleShape, "PUT", `/schedules/${segment(id)}`, request);
  }

  async remove(id: string, { signal }: ApiCallOptions = {}): Promise<void> {
    await this.#api.send("DELETE", `/schedules/${segment(id)}`, { signal, withinMs });
  }

  setPaused(id: string, paused: boolean, { signal }: ApiCallOptions = {}): Promise<ScheduleView> {
    return this.#api.request(scheduleShape, "POST", `/schedules/${segment(id)}/${paused ? "pause" : "resume"}`, {
      signal,
      withinMs,
    });
  }

  /** Fires now; resolves with the invocation. */
  async run(
    id: string,
    idempotencyKey: string | undefined,
    { signal }: ApiCallOptions = {},
  ): Promise<{ invocationId: string; isNew: boolean }> {
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    const fired = await this.#api.request(firedShape, "POST", `/schedules/${segment(id)}/run`, { headers, signal, withinMs });
    return { invocationId: fired.invocation_id, isNew: fired.status === "Accepted" };
  }

  /** The next times, in UTC and in the local time of the schedule's zone. */
  async next(id: string, count: number, { signal }: ApiCallOptions = {}): Promise<readonly { at: string; local: string }[]> {
    return (
      await this.#api.request(nextTimesShape, "GET", `/schedules/${segment(id)}/next`, { query: { count }, signal, withinMs })
    ).next;
  }
}

export class RulesApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** Applies all changes or none. */
  put(changes: readonly RuleChange[], { signal }: ApiCallOptions = {}): Promise<readonly RuleView[]> {
    return this.#api.request(ruleListShape, "PUT", "/limits/rules", { json: changes, signal, withinMs });
  }

  /** Removes rules; resolves with those that existed. */
  remove(patterns: readonly string[], { signal }: ApiCallOptions = {}): Promise<readonly string[]> {
    const json = patterns.map((pattern) => ({ pattern }));
    return this.#api.request(z.array(z.string()), "POST", "/limits/rules/bulk-delete", { json, signal, withinMs });
  }

  async setQueuePaused(id: string, paused: boolean, { signal }: ApiCallOptions = {}): Promise<void> {
    await this.#api.send("POST", `/vqueues/${segment(id)}/${paused ? "pause" : "resume"}`, { signal, withinMs });
  }
}
