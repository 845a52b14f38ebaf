/** Operations on invocations, one or many, and queries about one. */
import {
  applyToInvocation,
  cancelBatch,
  crashRunningAttempt,
  forkInSandbox,
  forkInvocation,
  getBatch,
  getBatchResults,
  getBundle,
  getExplanation,
  getTimeline,
  type InvocationVerb,
  listBatches,
  OPERATION_HEADER,
  restartInvocation,
  resumeInvocation,
  startBatch,
} from "@perdure/admin-contract";
import type { ForkInSandbox, ForkInvocation, StartBatch } from "@perdure/admin-contract/requests";
import type { z } from "zod";
import { type ApiCallOptions, type ApiClient, type ResponseTo, responseValue } from "./api-client.js";
import { AdminApiError } from "./api-error.js";
import type { SqlApi, SqlRow } from "./sql.js";
import { sqlText } from "./sql-text.js";
import type {
  BatchResultView,
  BatchView,
  BundleView,
  CrashedView,
  DryRunView,
  ExplanationView,
  ForkedView,
  SandboxView,
  TimelineView,
} from "./views.js";

export interface TimelineOptions extends ApiCallOptions {
  /** Whether to include the first bytes of payloads. */
  readonly payloads?: boolean;
  /** Journal index of the first step. */
  readonly fromStep?: number;
}

export interface BundleOptions extends ApiCallOptions {
  /** False: only credentials in headers are replaced. */
  readonly redact?: boolean | undefined;
  /** Further names of fields, steps and state keys that hold secrets. */
  readonly secret?: readonly string[] | undefined;
  /** Names whose values stay as they are. */
  readonly keep?: readonly string[] | undefined;
  readonly keepOtherFormats?: boolean | undefined;
}
/** Where a journal is cut, and which results in it differ. */
export type ForkStart = z.input<typeof ForkInvocation>;

/** A fork, the results of the calls that it makes, and its bounds. */
export type SandboxStart = z.input<typeof ForkInSandbox>;

export class InvocationsApi {
  readonly #api: ApiClient;
  readonly #sql: SqlApi;

  constructor(api: ApiClient, sql: SqlApi) {
    this.#api = api;
    this.#sql = sql;
  }

  /** Returns the invocation's row of `sys_invocation`; undefined when there is none. */
  async row(id: string, options: ApiCallOptions = {}): Promise<SqlRow | undefined> {
    return (await this.#sql.query(`SELECT * FROM sys_invocation WHERE id = ${sqlText(id)}`, options))[0];
  }

  /** Resolves with `done` when the operation has taken effect, `accepted` when it will. Rejects with `AdminApiError`. */
  async apply(
    verb: Exclude<InvocationVerb, "resume" | "restart-as-new">,
    id: string,
    { signal }: ApiCallOptions = {},
  ): Promise<"done" | "accepted"> {
    return (await this.applyAsOperation(verb, id, { signal })).outcome;
  }

  /** Like `apply`, with the id of the operation with which the change can be undone; undefined when it cannot. */
  async applyAsOperation(
    verb: Exclude<InvocationVerb, "resume" | "restart-as-new">,
    id: string,
    { signal }: ApiCallOptions = {},
  ): Promise<{ outcome: "done" | "accepted"; operation: string | undefined }> {
    const response = await this.#api.send(applyToInvocation(verb), { invocation_id: id }, { signal });
    return { outcome: response.status === 202 ? "accepted" : "done", operation: response.header(OPERATION_HEADER) };
  }

  /**
   * `deployment`: `keep` (default), `latest`, or an id. Resolves with the id of the operation with which it can be undone; undefined when
   * the invocation was not paused, or moved.
   */
  async resume(id: string, deployment: string | undefined, { signal }: ApiCallOptions = {}): Promise<string | undefined> {
    const response = await this.#api.send(resumeInvocation, { invocation_id: id }, { query: { deployment }, signal });
    return response.header(OPERATION_HEADER);
  }

  /**
   * Restarts a completed invocation as a new one, which keeps the journal up to and including entry `from`. Resolves with the id of the new
   * one, and with that of the operation whose undo ends it; undefined when nothing can be undone.
   */
  async restart(
    id: string,
    choice: { from?: number | undefined; deployment?: string | undefined },
    { signal }: ApiCallOptions = {},
  ): Promise<{ copy: string; operation: string | undefined }> {
    const response = await this.#api.send(restartInvocation, { invocation_id: id }, { query: choice, signal });
    return { copy: responseValue(restartInvocation, response).new_invocation_id, operation: response.header(OPERATION_HEADER) };
  }

  /**
   * Starts a new invocation with the journal of this one up to and including entry `at`, and with edited results. The source stays as it
   * is, and may be in any state but scheduled or queued.
   */
  fork(id: string, fork: ForkStart, { signal }: ApiCallOptions = {}): Promise<ForkedView> {
    return this.#api.call(forkInvocation, { invocation_id: id }, { json: fork, signal });
  }

  /** Runs a fork in memory of the server: nothing is stored, and nothing is called but the endpoint of the handler. */
  forkInSandbox(id: string, fork: SandboxStart, { signal }: ApiCallOptions = {}): Promise<SandboxView> {
    return this.#api.call(forkInSandbox, { invocation_id: id }, { json: fork, signal });
  }

  /**
   * Stops the running attempt; another one follows. Rejects with `AdminApiError` 409 when no attempt runs, and 404 where the server does
   * not allow it.
   */
  crashAttempt(id: string, { signal }: ApiCallOptions = {}): Promise<CrashedView> {
    return this.#api.call(crashRunningAttempt, { invocation_id: id }, { signal });
  }

  explain(id: string, { signal }: ApiCallOptions = {}): Promise<ExplanationView> {
    return this.#api.call(getExplanation, { invocation_id: id }, { signal });
  }

  /** Everything that a replay of the invocation needs, redacted unless `redact` is false. */
  bundle(id: string, { signal, redact, secret, keep, keepOtherFormats }: BundleOptions = {}): Promise<BundleView> {
    const query = { redact, secret: namesOf(secret), keep: namesOf(keep), keep_other_formats: keepOtherFormats };
    return this.#api.call(getBundle, { invocation_id: id }, { query, signal });
  }

  timeline(id: string, { signal, payloads, fromStep }: TimelineOptions = {}): Promise<TimelineView> {
    const query = { payloads: payloads === true ? true : undefined, from_step: fromStep };
    return this.#api.call(getTimeline, { invocation_id: id }, { query, signal });
  }
}

function namesOf(names: readonly string[] | undefined): string | undefined {
  return names === undefined || names.length === 0 ? undefined : names.join(",");
}

/** Operation and its invocations: those that meet a condition over `sys_invocation`, or those of a list of ids. */
export type BatchStart = Omit<z.input<typeof StartBatch>, "dry_run" | "ids"> & { readonly ids?: readonly string[] | undefined };

export class BatchesApi {
  readonly #api: ApiClient;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** Number of the invocations that match, and some of them; changes nothing. */
  async preview(start: BatchStart, { signal }: ApiCallOptions = {}): Promise<DryRunView> {
    const json = { ...start, dry_run: true };
    const response = await this.#api.call(startBatch, {}, { json, signal, isRepeatable: true });
    if (isDryRun(response)) return response;
    throw new AdminApiError(202, "the server began the batch instead of counting its invocations");
  }

  async begin(start: BatchStart, { signal }: ApiCallOptions = {}): Promise<BatchView> {
    const response = await this.#api.call(startBatch, {}, { json: start, signal });
    if (!isDryRun(response)) return response;
    throw new AdminApiError(200, "the server counted the invocations of the batch instead of beginning it");
  }

  async list({ signal }: ApiCallOptions = {}): Promise<readonly BatchView[]> {
    return (await this.#api.call(listBatches, {}, { signal })).batches;
  }

  get(id: string, { signal }: ApiCallOptions = {}): Promise<BatchView> {
    return this.#api.call(getBatch, { batch_id: id }, { signal });
  }

  /** Cancels the rest of the batch; finished operations are not undone. */
  cancel(id: string, { signal }: ApiCallOptions = {}): Promise<BatchView> {
    return this.#api.call(cancelBatch, { batch_id: id }, { signal });
  }

  /** One page of results; `next` is undefined when no further results exist yet. */
  async results(
    id: string,
    cursor?: string,
    { signal }: ApiCallOptions = {},
  ): Promise<{ results: readonly BatchResultView[]; next: string | undefined }> {
    const page = await this.#api.call(getBatchResults, { batch_id: id }, { query: { cursor }, signal });
    return { results: page.results, next: page.next_cursor ?? undefined };
  }
}

function isDryRun(response: ResponseTo<typeof startBatch>): response is DryRunView {
  return "dry_run" in response;
}
