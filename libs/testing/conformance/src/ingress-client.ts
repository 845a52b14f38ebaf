/** A client of the ingress for suites: call, send, attach, output. */
import { type HttpAnswer, HttpClient, type RequestOptions } from "./http.js";

/** Service and handler, with the key between them for objects and workflows. */
export type Path = readonly [service: string, handler: string] | readonly [service: string, key: string, handler: string];

export interface IngressCallOptions extends Omit<RequestOptions, "json"> {
  readonly idempotencyKey?: string;
}

export interface SentInvocation {
  readonly invocationId: string;
  readonly status: "Accepted" | "PreviouslyAccepted";
  readonly executionTime?: string;
}

export interface IngressError {
  readonly code: number;
  readonly message: string;
  readonly source: "ingress" | "invocation";
  readonly metadata?: Readonly<Record<string, string>>;
  readonly stacktrace?: string;
}

function pathOf(path: Path): string {
  return path.map((part) => encodeURIComponent(part)).join("/");
}

function requestOf(argument: unknown, { idempotencyKey, headers, ...rest }: IngressCallOptions): RequestOptions {
  return {
    ...rest,
    headers: { ...headers, ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }) },
    ...(argument === undefined ? {} : { json: argument }),
  };
}

export class TestIngressClient implements Disposable {
  readonly http: HttpClient;

  constructor(base: string) {
    this.http = new HttpClient(base);
  }

  /** Resolves with the answer for any status. An undefined argument sends no body. */
  call(path: Path, argument?: unknown, options: IngressCallOptions = {}): Promise<HttpAnswer> {
    return this.http.request("POST", `/${pathOf(path)}`, requestOf(argument, options));
  }

  /** The result; rejects when the status is not 200. */
  async result<T = unknown>(path: Path, argument?: unknown, options: IngressCallOptions = {}): Promise<T> {
    return successOf<T>(await this.call(path, argument, options), path.join("/"));
  }

  /** `delay` in the form of the query parameter, e.g. `500ms`. */
  async send(
    path: Path,
    argument?: unknown,
    { delay, ...options }: IngressCallOptions & { readonly delay?: string } = {},
  ): Promise<SentInvocation> {
    const query = delay === undefined ? "" : `?delay=${encodeURIComponent(delay)}`;
    const answer = await this.http.request("POST", `/${pathOf(path)}/send${query}`, requestOf(argument, options));
    if (answer.status !== 202) throw new Error(`send to ${path.join("/")}: ${answer.status} ${answer.text}`);
    return answer.json as SentInvocation;
  }

  /** Waits for the invocation's end. */
  attach(invocationId: string, withinMs?: number): Promise<HttpAnswer> {
    return this.http.request("GET", `/restate/attach/${invocationId}`, withinMs === undefined ? {} : { withinMs });
  }

  /** Waits for success and returns the result. */
  async outcome<T = unknown>(invocationId: string, withinMs?: number): Promise<T> {
    return successOf<T>(await this.attach(invocationId, withinMs), invocationId);
  }

  /** Answered with 470 while the invocation runs. */
  output(invocationId: string): Promise<HttpAnswer> {
    return this.http.request("GET", `/restate/output/${invocationId}`);
  }

  resolveAwakeable(id: string, value: unknown): Promise<HttpAnswer> {
    return this.http.request("POST", `/restate/awakeables/${id}/resolve`, { json: value });
  }

  rejectAwakeable(id: string, reason: string): Promise<HttpAnswer> {
    return this.http.request("POST", `/restate/awakeables/${id}/reject`, {
      body: reason,
      headers: { "content-type": "text/plain" },
    });
  }

  [Symbol.dispose](): void {
    this.http[Symbol.dispose]();
  }
}

function successOf<T>(answer: HttpAnswer, what: string): T {
  if (answer.status !== 200) throw new Error(`${what}: ${answer.status} ${answer.text}`);
  return answer.json as T;
}

/** The JSON body of an error response. */
export function errorOf(answer: HttpAnswer): IngressError {
  if (answer.status < 400) throw new Error(`not an error: ${answer.status} ${answer.text}`);
  return answer.json as IngressError;
}

/** The invocation id in an answer. */
export function invocationIdOf(answer: HttpAnswer): string {
  const id = answer.headers["x-restate-id"];
  if (typeof id !== "string") throw new Error(`the answer names no invocation: ${answer.status} ${answer.text}`);
  return id;
}
