/** Small resources: Kafka clusters, subscriptions, schedules, rules of flow control. */
import {
  backfillSchedule,
  createKafkaCluster,
  createSchedule,
  createSubscription,
  deleteRules,
  getKafkaCluster,
  getNextTimes,
  getSchedule,
  getSubscription,
  getSubscriptionStatus,
  listKafkaClusters,
  listSchedules,
  listSubscriptions,
  OPERATION_HEADER,
  pauseOrResumeQueue,
  pauseOrResumeSchedule,
  pauseOrResumeSubscription,
  putRules,
  removeKafkaCluster,
  removeSchedule,
  removeSubscription,
  replaceSchedule,
  runSchedule,
  skipRecord,
  updateKafkaCluster,
} from "@perdure/admin-contract";
import type { BackfillSchedule, DeleteRules } from "@perdure/admin-contract/requests";
import type { z } from "zod";
import { type ApiCallOptions, type ApiClient, responseValue } from "./api-client.js";
import type {
  BackfillView,
  KafkaClusterView,
  RuleUpsert,
  RuleView,
  ScheduleView,
  SubscriptionStatusView,
  SubscriptionView,
} from "./views.js";

type UserWritten = Readonly<Record<string, unknown>>;
type KafkaProperties = Readonly<Record<string, string>>;

export class KafkaClustersApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly KafkaClusterView[]> {
    return (await this.#api.call(listKafkaClusters, {}, { signal })).clusters;
  }

  get(name: string, { signal }: ApiCallOptions = {}): Promise<KafkaClusterView> {
    return this.#api.call(getKafkaCluster, { cluster_name: name }, { signal });
  }

  create(name: string, properties: KafkaProperties, { signal }: ApiCallOptions = {}): Promise<KafkaClusterView> {
    return this.#api.call(createKafkaCluster, {}, { json: { name, properties }, signal });
  }

  /** Replaces all properties; secrets that were shown as `***` keep their values. */
  update(name: string, properties: KafkaProperties, { signal }: ApiCallOptions = {}): Promise<KafkaClusterView> {
    return this.#api.call(updateKafkaCluster, { cluster_name: name }, { json: { properties }, signal });
  }

  /** Resolves with the id of the operation with which the removal can be undone; undefined when it cannot. */
  async remove(name: string, force: boolean, { signal }: ApiCallOptions = {}): Promise<string | undefined> {
    const response = await this.#api.send(removeKafkaCluster, { cluster_name: name }, { query: { force }, signal });
    return response.header(OPERATION_HEADER);
  }
}

export class SubscriptionsApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly SubscriptionView[]> {
    return (await this.#api.call(listSubscriptions, {}, { signal })).subscriptions;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<SubscriptionView> {
    return this.#api.call(getSubscription, { subscription: id }, { signal });
  }

  /** `kafka://<cluster>/<topic>` to `service://<Service>/<handler>`. */
  create(source: string, sink: string, options: KafkaProperties, { signal }: ApiCallOptions = {}): Promise<SubscriptionView> {
    return this.#api.call(createSubscription, {}, { json: { source, sink, options }, signal });
  }

  /** Resolves with the id of the operation with which the removal can be undone; undefined when it cannot. */
  async remove(id: string, { signal }: ApiCallOptions = {}): Promise<string | undefined> {
    return (await this.#api.send(removeSubscription, { subscription: id }, { signal })).header(OPERATION_HEADER);
  }

  status(id: string, { signal }: ApiCallOptions = {}): Promise<SubscriptionStatusView> {
    return this.#api.call(getSubscriptionStatus, { subscription: id }, { signal });
  }

  setPaused(id: string, paused: boolean, { signal }: ApiCallOptions = {}): Promise<SubscriptionStatusView> {
    return this.#api.call(pauseOrResumeSubscription(paused ? "pause" : "resume"), { subscription: id }, { signal });
  }

  /** Skips a record. */
  skip(
    id: string,
    record: { partition: number; offset: number },
    { signal }: ApiCallOptions = {},
  ): Promise<SubscriptionStatusView> {
    return this.#api.call(skipRecord, { subscription: id }, { json: record, signal });
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
    return (await this.#api.call(listSchedules, {}, { query, signal })).schedules;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<ScheduleView> {
    return this.#api.call(getSchedule, { schedule: id }, { signal });
  }

  /** Fields as in docs/schedules.md; the server checks what the user wrote. */
  create(fields: UserWritten, { signal }: ApiCallOptions = {}): Promise<ScheduleView> {
    return this.#api.call(createSchedule, {}, { json: fields, signal });
  }

  /** Replaces all fields; rejects with 409 when the schedule has another version now. */
  replace(id: string, fields: UserWritten, version: number, { signal }: ApiCallOptions = {}): Promise<ScheduleView> {
    const request = { json: fields, query: { expected_version: version }, signal };
    return this.#api.call(replaceSchedule, { schedule: id }, request);
  }

  /** Resolves with the id of the operation with which the removal can be undone; undefined when it cannot. */
  async remove(id: string, { signal }: ApiCallOptions = {}): Promise<string | undefined> {
    return (await this.#api.send(removeSchedule, { schedule: id }, { signal })).header(OPERATION_HEADER);
  }

  setPaused(id: string, paused: boolean, { signal }: ApiCallOptions = {}): Promise<ScheduleView> {
    return this.#api.call(pauseOrResumeSchedule(paused ? "pause" : "resume"), { schedule: id }, { signal });
  }

  /** Fires now; resolves with the invocation. */
  async run(
    id: string,
    idempotencyKey: string | undefined,
    { signal }: ApiCallOptions = {},
  ): Promise<{ invocationId: string; isNew: boolean }> {
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    const fired = await this.#api.call(runSchedule, { schedule: id }, { headers, signal });
    return { invocationId: fired.invocation_id, isNew: fired.status === "Accepted" };
  }

  /** Calls the target for the times of a past range, each once; `dry_run` only lists them. */
  backfill(id: string, range: z.input<typeof BackfillSchedule>, { signal }: ApiCallOptions = {}): Promise<BackfillView> {
    return this.#api.call(backfillSchedule, { schedule: id }, { json: range, signal });
  }

  /** The next times, in UTC and in the local time of the schedule's zone. */
  async next(id: string, count: number, { signal }: ApiCallOptions = {}): Promise<readonly { at: string; local: string }[]> {
    return (await this.#api.call(getNextTimes, { schedule: id }, { query: { count }, signal })).next;
  }
}

export class RulesApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** Applies all changes or none. */
  put(changes: readonly RuleUpsert[], { signal }: ApiCallOptions = {}): Promise<readonly RuleView[]> {
    return this.#api.call(putRules, {}, { json: changes, signal });
  }

  /** Removes rules; resolves with those that existed, and the id of the operation with which the removal can be undone, when it can. */
  async remove(
    patterns: readonly string[],
    { signal }: ApiCallOptions = {},
  ): Promise<{ readonly removed: readonly string[]; readonly operation: string | undefined }> {
    const json: z.input<typeof DeleteRules> = patterns.map((pattern) => ({ pattern }));
    const response = await this.#api.send(deleteRules, {}, { json, signal });
    return { removed: responseValue(deleteRules, response), operation: response.header(OPERATION_HEADER) };
  }

  async setQueuePaused(id: string, paused: boolean, { signal }: ApiCallOptions = {}): Promise<void> {
    await this.#api.send(pauseOrResumeQueue(paused ? "pause" : "resume"), { vqueue_id: id }, { signal });
  }
}
