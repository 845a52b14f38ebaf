/** Client of the ingress of one runtime: call a handler, send to it, attach to an invocation, complete an awakeable. */
import { z } from "zod";
import { type ApiCallOptions, ApiClient, type ApiClientOptions, isSuccess, parsed, segment } from "./api-client.js";
import { AdminApiError, errorOf, isRecord } from "./api-error.js";
import { ADMIN_REQUEST_MS } from "./limits.js";
import type { TransportResponse } from "./transport.js";

export interface HandlerAddress {
  readonly service: string;
  /** Key of objects and workflows. */
  readonly key?: string | undefined;
  readonly handler: string;
}

export interface HandlerInput extends ApiCallOptions {
  readonly body?: string | Uint8Array | undefined;
  /** Defaults to `application/json`; not sent without a body. */
  readonly contentType?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly scope?: string | undefined;
  readonly limitKey?: string | undefined;
  /** 1 (first) … 5 (last), among invocations with the same limit key. */
  readonly priority?: number | undefined;
}

/** Result of a call. */
export interface CallResult {
  /** HTTP status of the successful answer. */
  readonly status: number;
  readonly invocationId: string | undefined;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

const sentShape = z.looseObject({ invocationId: z.string(), status: z.string(), executionTime: z.string().optional() });
export type SendResult = z.infer<typeof sentShape>;

/** The invocation ran and failed, or no invocation was created (`invocationId` undefined). */
export class InvocationFailure extends AdminApiError {
  readonly invocationId: string | undefined;
  /** `invocation` when the handler failed, `ingress` or `gateway` when the request did not reach it. */
  readonly source: string;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;

  constructor(response: TransportResponse) {
    const error = errorOf(response);
    const fields: Readonly<Record<string, unknown>> = isRecord(error.body) ? error.body : {};
    const { source, metadata } = fields;
    const from = response.header("x-restate-error-source") ?? (typeof source === "string" ? source : "ingress");
    const { code, requestId, body } = error;
    // Only the author of the user code can advise on its failures.
    super(error.status, error.message, { code, requestId, body, advice: from === "invocation" ? "" : error.advice });
    this.invocationId = response.header("x-restate-id");
    this.source = from;
    this.metadata = isRecord(metadata) ? metadata : undefined;
  }
}

export class IngressClient {
  readonly #api: ApiClient;

  constructor(options: ApiClientOptions) {
    this.#api = new ApiClient(options);
  }

  /** Waits for the result, however long it takes. Rejects with `InvocationFailure`, or `AdminApiError` when no server answers. */
  async call(address: HandlerAddress, input: HandlerInput = {}): Promise<CallResult> {
    const { path, request } = callOf("call", address, input);
    return outcomeOf(await this.#api.exchange("POST", path, request));
  }

  /** Resolves when the invocation is accepted; `delay` such as `10s`. */
  async send(address: HandlerAddress, input: HandlerInput = {}, delay?: string): Promise<SendResult> {
    const { path, request } = callOf("send", address, input);
    const response = await this.#api.exchange("POST", path, { ...request, query: { delay }, withinMs: ADMIN_REQUEST_MS });
    if (!isSuccess(response)) throw new InvocationFailure(response);
    return parsed(sentShape, response);
  }

  /** Waits for the result of an invocation. */
  async attach(invocationId: string, { signal }: ApiCallOptions = {}): Promise<CallResult> {
    return outcomeOf(await this.#api.exchange("GET", `/restate/attach/${segment(invocationId)}`, { signal }));
  }

  /** Result of an invocation; undefined while it runs. */
  async output(invocationId: string, { signal }: ApiCallOptions = {}): Promise<CallResult | undefined> {
    const response = await this.#api.exchange("GET", `/restate/output/${segment(invocationId)}`, {
      signal,
      withinMs: ADMIN_REQUEST_MS,
    });
    return response.status === STILL_RUNNING ? undefined : outcomeOf(response);
  }

  async resolveAwakeable(
    id: string,
    body: string | Uint8Array | undefined,
    contentType: string,
    { signal }: ApiCallOptions = {},
  ): Promise<void> {
    await this.#complete(id, "resolve", body, contentType, signal);
  }

  async rejectAwakeable(id: string, reason: string, { signal }: ApiCallOptions = {}): Promise<void> {
    await this.#complete(id, "reject", reason, "text/plain", signal);
  }

  async #complete(
    id: string,
    how: "resolve" | "reject",
    body: string | Uint8Array | undefined,
    contentType: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const headers: Record<string, string> = body === undefined ? {} : { "content-type": contentType };
    const path = `/restate/awakeables/${segment(id)}/${how}`;
    const response = await this.#api.exchange("POST", path, { body, headers, signal, withinMs: ADMIN_REQUEST_MS });
    if (!isSuccess(response)) throw errorOf(response);
  }
}

/** Status of `output` for an invocation that has not ended. */
const STILL_RUNNING = 470;

/** Path of a handler below the ingress; plain calls have no `verb` in it. */
export function handlerPath(verb: "call" | "send", { service, key, handler }: HandlerAddress, scope?: string): string {
  const parts = [service, ...(key === undefined ? [] : [key]), handler].map(segment).join("/");
  if (scope !== undefined) return `/restate/scope/${segment(scope)}/${verb}/${parts}`;
  return verb === "call" ? `/${parts}` : `/${parts}/send`;
}

function callOf(verb: "call" | "send", address: HandlerAddress, input: HandlerInput) {
  const { body, idempotencyKey, limitKey, priority } = input;
  const headers: Record<string, string> = {
    accept: "*/*",
    ...(body === undefined ? {} : { "content-type": input.contentType ?? "application/json" }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(limitKey === undefined ? {} : { "x-restate-limit-key": limitKey }),
    ...(priority === undefined ? {} : { "x-perdure-priority": String(priority) }),
    ...input.headers,
  };
  return { path: handlerPath(verb, address, input.scope), request: { body, headers, signal: input.signal } };
}

function outcomeOf(response: TransportResponse): CallResult {
  if (!isSuccess(response)) throw new InvocationFailure(response);
  const { status, body } = response;
  return { status, invocationId: response.header("x-restate-id"), contentType: response.header("content-type"), body };
}
