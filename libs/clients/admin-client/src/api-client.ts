/** Transport of all clients: credentials, a timeout, JSON in and out, and one error class for refusals. */
import type { Secret } from "@perdure/base";
import type { z } from "zod";
import { AdminApiError, errorOf, unreachable } from "./api-error.js";
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

export interface ApiClientRequest extends ApiCallOptions {
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

  /** The JSON of a successful answer in this shape. Rejects with `AdminApiError`. */
  async request<S extends z.ZodType>(
    shape: S,
    method: string,
    path: string,
    request: ApiClientRequest = {},
  ): Promise<z.output<S>> {
    const response = await this.exchange(method, path, request);
    if (!isSuccess(response)) throw errorOf(response);
    return parsed(shape, response);
  }

  /** A successful answer whose body is ignored. Rejects with `AdminApiError`. */
  async send(method: string, path: string, request: ApiClientRequest = {}): Promise<TransportResponse> {
    const response = await this.exchange(method, path, request);
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
