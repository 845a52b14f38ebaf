/** Transport of all clients: credentials, a timeout, JSON in and out, and one error class for refusals. */
import { type AdminOperation, type PathParameter, type Tolerant, tolerant } from "@perdure/admin-contract";
import type { Secret } from "@perdure/base";
import type { z } from "zod";
import { AdminApiError, errorOf, unreachable } from "./api-error.js";
import { ADMIN_REQUEST_MS } from "./limits.js";
import { type ApiTransport, fetchTransport, type TransportResponse } from "./transport.js";

export interface ApiClientOptions {
  /** `http://localhost:9070`, with or without a path. */
  readonly baseUrl: string;
  /** Called before every request, so that the token can be renewed; undefined for servers without authentication. */
  readonly token?: (() => Secret | undefined | Promise<Secret | undefined>) | undefined;
  readonly userAgent?: string | undefined;
  readonly transport?: ApiTransport | undefined;
}

export interface ApiCallOptions {
  readonly signal?: AbortSignal | undefined;
}

interface ApiClientRequest extends ApiCallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON; excludes `body`. */
  readonly json?: unknown;
  readonly body?: string | Uint8Array | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Timeout in milliseconds; unlimited when undefined. */
  readonly withinMs?: number | undefined;
  /** The request only reads, although its method is not GET. */
  readonly isRepeatable?: boolean;
}

type PathParameters<O extends AdminOperation> = Readonly<Record<PathParameter<O["path"]>, string>>;

type QueryOf<O extends AdminOperation> = O extends { readonly query: infer Query }
  ? { readonly [Name in keyof Query]?: string | number | boolean | undefined }
  : Readonly<Record<string, never>>;

/** `query` has the parameters of the operation. The timeout is that of the management API. */
interface OperationRequest<O extends AdminOperation>
  extends Pick<ApiClientRequest, "json" | "headers" | "isRepeatable" | "signal"> {
  readonly query?: QueryOf<O>;
}

type ResultsOf<O extends AdminOperation> = O extends {
  readonly results: infer Results extends Readonly<Record<number, z.ZodType>>;
}
  ? Results[keyof Results]
  : never;

/** The body of a successful response, in the tolerant form of the shape that the contract has for its status. */
export type ResponseTo<O extends AdminOperation> = Tolerant<ResultsOf<O>>;

export class ApiClient {
  readonly base: URL;
  readonly #options: ApiClientOptions;
  readonly #send: ApiTransport;

  constructor(options: ApiClientOptions) {
    this.base = new URL(options.baseUrl.endsWith("/") ? options.baseUrl : `${options.baseUrl}/`);
    this.#options = options;
    this.#send = options.transport ?? fetchTransport();
  }

  /**
   * Resolves with an answer of any status. `path` begins with a slash and is encoded already. Rejects with `AdminApiError` when there is no
   * answer.
   */
  async exchange(method: string, path: string, request: ApiClientRequest = {}): Promise<TransportResponse> {
    const { token, userAgent } = this.#options;
    const secret = await token?.();
    const headers: Record<string, string> = {
      accept: "application/json",
      ...(userAgent === undefined ? {} : { "user-agent": userAgent }),
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret.reveal()}` }),
      ...(request.json === undefined ? {} : { "content-type": "application/json" }),
      ...request.headers,
    };
    const timeout = request.withinMs === undefined ? undefined : AbortSignal.timeout(request.withinMs);
    const signals = [request.signal, timeout].filter((signal) => signal !== undefined);
    try {
      return await this.#send({
        method,
        url: this.#urlOf(path, request.query),
        headers,
        body: request.json === undefined ? request.body : JSON.stringify(request.json),
        signal: signals.length === 0 ? undefined : AbortSignal.any(signals),
        isRepeatable: method === "GET" || request.isRepeatable === true,
      });
    } catch (cause) {
      if (request.signal?.aborted === true) throw cause;
      if (timeout?.aborted === true)
        throw new AdminApiError(0, `no answer from ${this.base.origin} within ${request.withinMs} ms`, { cause });
      throw unreachable(this.base.origin, cause);
    }
  }

  /** The value of a successful response. Rejects with `AdminApiError`. */
  async call<O extends AdminOperation>(
    operation: O,
    parameters: PathParameters<O>,
    request: OperationRequest<O> = {},
  ): Promise<ResponseTo<O>> {
    return responseValue(operation, await this.send(operation, parameters, request));
  }

  /** A successful response. Rejects with `AdminApiError`. */
  async send<O extends AdminOperation>(
    operation: O,
    parameters: PathParameters<O>,
    request: OperationRequest<O> = {},
  ): Promise<TransportResponse> {
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: PathParameter<O["path"]>) => segment(parameters[name]));
    const response = await this.exchange(operation.method, path, { ...request, withinMs: ADMIN_REQUEST_MS });
    if (!isSuccess(response)) throw errorOf(response);
    return response;
  }

  #urlOf(path: string, query: ApiClientRequest["query"]): URL {
    // Not through `new URL(path, base)`: keys may be `..`, and a base may have a path.
    const text = this.base.href.slice(0, -1) + path;
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) parameters.set(name, String(value));
    return new URL(parameters.size === 0 ? text : `${text}?${parameters}`);
  }
}

export function isSuccess({ status }: TransportResponse): boolean {
  return status >= 200 && status < 300;
}

/** The value of a successful response to the operation. Throws `AdminApiError` when the response is not one of this API. */
export function responseValue<O extends AdminOperation>({ results = {} }: O, response: TransportResponse): ResponseTo<O> {
  // A status that is not in this version of the contract most likely comes with a shape that is.
  const shape = results[response.status] ?? Object.values(results)[0];
  if (shape === undefined) throw new TypeError("the operation has no results");
  return parsed(tolerant(shape), response) as ResponseTo<O>;
}

/** Throws `AdminApiError` when the body is not JSON of this shape. */
export function parsed<S extends z.ZodType>(shape: S, { status, body }: TransportResponse): z.output<S> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(body));
  } catch (cause) {
    throw new AdminApiError(status, "the response is not valid JSON: this is not the address of a management API", { cause });
  }
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new AdminApiError(status, `the answer has an unexpected shape: ${issue?.path.join(".")}: ${issue?.message}`);
}

/** One encoded segment of a path. Throws for `.` and `..`, which URLs cannot carry. */
export function segment(text: string): string {
  // In every spelling, URL parsers resolve these as steps to another path.
  if (text === "." || text === "..")
    throw new AdminApiError(0, `'${text}' cannot be part of an address`, { advice: "Choose another key." });
  return encodeURIComponent(text);
}
