/** Operations on invocations, one or many, and queries about one. */
import { type ApiCallOptions, type ApiClient, segment } from "./api-client.js";
import {
  type BatchResult,
  type BatchView,
  batchListShape,
  batchResultsShape,
  batchShape,
  type CrashedView,
  crashedShape,
  type DryRunView,
  dryRunShape,
  type ExplanationView,
  explanationShape,
  type InvocationVerb,
  restartedShape,
  type TimelineView,
  timelineShape,
} from "./invocation-shapes.js";
import { ADMIN_REQUEST_MS } from "./limits.js";
import type { SqlApi, SqlRow } from "./sql.js";
import { sqlText } from "./sql-text.js";

export interface TimelineOptions extends ApiCallOptions {
  /** Whether to include the first bytes of payloads. */
  readonly payloads?: boolean;
  /** Journal index of the first step. */
  readonly fromStep?: number;
}

export class InvocationsApi {
  readonly #api: ApiClient;
  readonly #sql: SqlApi;

  constructor(api: ApiClient, sql: SqlApi) {
    this.#api = api;
    this.#sql = sql;
  }

  /** Its row of `sys_invocation`; undefined when there is none. */
  async row(id: string, options: ApiCallOptions = {}): Promise<SqlRow | undefined> {
    return (await this.#sql.query(`SELECT * FROM sys_invocation WHERE id = ${sqlText(id)}`, options))[0];
  }

  /** Resolves with `done` when the operation has taken effect, `accepted` when it will. Rejects with `AdminApiError`. */
  async apply(
    verb: Exclude<InvocationVerb, "resume" | "restart-as-new">,
    id: string,
    options: ApiCallOptions = {},
  ): Promise<"done" | "accepted"> {
    return this.#patch(verb, id, {}, options);
  }

  /** `deployment`: `keep` (default), `latest`, or an id. */
  async resume(id: string, deployment: string | undefined, options: ApiCallOptions = {}): Promise<void> {
    await this.#patch("resume", id, { deployment }, options);
  }

  /**
   * Restarts a completed invocation as a new one, which keeps the journal up to and including entry `from`. Resolves with the id of the new
   * one.
   */
  async restart(
    id: string,
    choice: { from?: number | undefined; deployment?: string | undefined },
    { signal }: ApiCallOptions = {},
  ): Promise<string> {
    const request = { query: { ...choice }, signal, withinMs: ADMIN_REQUEST_MS };
    return (await this.#api.request(restartedShape, "PATCH", `/invocations/${segment(id)}/restart-as-new`, request))
      .new_invocation_id;
  }

  /**
   * Stops the running attempt; another one follows. Rejects with `AdminApiError` 409 when no attempt runs, and 404 where the server does
   * not allow it.
   */
  crashAttempt(id: string, { signal }: ApiCallOptions = {}): Promise<CrashedView> {
    const path = `/invocations/${segment(id)}/crash-attempt`;
    return this.#api.request(crashedShape, "POST", path, { signal, withinMs: ADMIN_REQUEST_MS });
  }

  explain(id: string, { signal }: ApiCallOptions = {}): Promise<ExplanationView> {
    return this.#api.request(explanationShape, "GET", `/invocations/${segment(id)}/explain`, {
      signal,
      withinMs: ADMIN_REQUEST_MS,
    });
  }

  timeline(id: string, { signal, payloads, fromStep }: TimelineOptions = {}): Promise<TimelineView> {
    const query = { payloads: payloads === true ? true : undefined, from_step: fromStep };
    return this.#api.request(timelineShape, "GET", `/invocations/${segment(id)}/timeline`, {
      query,
      signal,
      withinMs: ADMIN_REQUEST_MS,
    });
  }

  async #patch(
    verb: InvocationVerb,
    id: string,
    query: Readonly<Record<string, string | undefined>>,
    { signal }: ApiCallOptions,
  ): Promise<"done" | "accepted"> {
    const request = { query, signal, withinMs: ADMIN_REQUEST_MS };
    const { status } = await this.#api.send("PATCH", `/invocations/${segment(id)}/${verb}`, request);
    return status === 202 ? "accepted" : "done";
  }
}

export interface BatchStart {
  readonly operation: InvocationVerb;
  /** A condition over `sys_invocation`; excludes `ids`. */
  readonly filter?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly limit?: number | undefined;
  readonly deployment?: string | undefined;
  readonly reason?: string | undefined;
}

export class BatchesApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** Number of the invocations that match, and some of them; changes nothing. */
  preview(start: BatchStart, { signal }: ApiCallOptions = {}): Promise<DryRunView> {
    const request = { json: { ...start, dry_run: true }, signal, withinMs: ADMIN_REQUEST_MS, isRepeatable: true };
    return this.#api.request(dryRunShape, "POST", "/invocations/batch", request);
  }

  begin(start: BatchStart, { signal }: ApiCallOptions = {}): Promise<BatchView> {
    return this.#api.request(batchShape, "POST", "/invocations/batch", { json: start, signal, withinMs: ADMIN_REQUEST_MS });
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly BatchView[]> {
    return (await this.#api.request(batchListShape, "GET", "/invocations/batches", { signal, withinMs: ADMIN_REQUEST_MS }))
      .batches;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<BatchView> {
    return this.#api.request(batchShape, "GET", `/invocations/batches/${segment(id)}`, { signal, withinMs: ADMIN_REQUEST_MS });
  }

  /** Cancels the rest of the batch; finished operations are not undone. */
  cancel(id: string, { signal }: ApiCallOptions = {}): Promise<BatchView> {
    return this.#api.request(batchShape, "DELETE", `/invocations/batches/${segment(id)}`, { signal, withinMs: ADMIN_REQUEST_MS });
  }

  /** One page of results; `next` is undefined when no further results exist yet. */
  async results(
    id: string,
    cursor?: string,
    { signal }: ApiCallOptions = {},
  ): Promise<{ results: readonly BatchResult[]; next: string | undefined }> {
    const path = `/invocations/batches/${segment(id)}/results`;
    const page = await this.#api.request(batchResultsShape, "GET", path, {
      query: { cursor },
      signal,
      withinMs: ADMIN_REQUEST_MS,
    });
    return { results: page.results, next: page.next_cursor ?? undefined };
  }
}
