/** Client of the Cloud API: one method for operations of the user, one for operations of an account. It validates answers. */
import type { Secret } from "@perdure/base";
import type { AccountId } from "@perdure/cloud";
import type { z } from "zod";
import {
  type AccountOperations,
  accountOperations,
  type exportAuditEventsRequest,
  type RequestOf,
  type ResponseOf,
  type UserOperations,
  userOperations,
} from "./operations.js";
import { errorShape } from "./shapes.js";

/** The Cloud API refused the request, the answer was not one of the API, or there was no answer. */
export class CloudApiError extends Error {
  override readonly name = "CloudApiError";
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** `PERD0403` …; undefined when the answer is not one of the API, for example from a proxy. */
  readonly code: string | undefined;
  readonly requestId: string | undefined;

  constructor(status: number, message: string, code: string | undefined, requestId: string | undefined, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

export interface CloudClientOptions {
  /** `https://api.us.perdure.dev`; a path in it is dropped, as the official command line does. */
  readonly baseUrl: string;
  /** Called before every request, so that the token can be renewed. */
  readonly accessToken: () => Secret | Promise<Secret>;
  readonly userAgent?: string;
  readonly fetch?: typeof fetch;
}

export interface CloudCallOptions {
  readonly signal?: AbortSignal;
}

export class CloudClient {
  readonly #options: CloudClientOptions;

  constructor(options: CloudClientOptions) {
    this.#options = options;
  }

  /** Calls an operation of the user. Rejects with `CloudApiError`. */
  async user<N extends keyof UserOperations>(
    name: N,
    body: RequestOf<UserOperations[N]>,
    options: CloudCallOptions = {},
  ): Promise<ResponseOf<UserOperations[N]>> {
    const response = await this.#post(`/cloud/${name}`, body, options);
    return answered(userOperations[name], response);
  }

  /** Calls an operation of an account. Rejects with `CloudApiError`. */
  async account<N extends keyof AccountOperations>(
    accountId: AccountId,
    name: N,
    body: RequestOf<AccountOperations[N]>,
    options: CloudCallOptions = {},
  ): Promise<ResponseOf<AccountOperations[N]>> {
    const response = await this.#post(`/cloud/${accountId}/${name}`, body, options);
    return answered(accountOperations[name], response);
  }

  /** The audit log as a file, in chunks as they arrive. Rejects with `CloudApiError`. */
  async exportAuditEvents(
    accountId: AccountId,
    body: z.input<typeof exportAuditEventsRequest>,
    options: CloudCallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#post(`/cloud/${accountId}/ExportAuditEvents`, body, options);
    if (response.body === null) throw new CloudApiError(response.status, "the answer is empty", undefined, undefined);
    return response.body;
  }

  async #post(path: string, body: unknown, { signal }: CloudCallOptions): Promise<Response> {
    const { baseUrl, accessToken, userAgent, fetch: fetchFn = fetch } = this.#options;
    const url = new URL(path, baseUrl);
    const headers: Record<string, string> = {
      "content-type": "application/json",
      authorization: `Bearer ${(await accessToken()).reveal()}`,
    };
    if (userAgent !== undefined) headers["user-agent"] = userAgent;
    let response: Response;
    try {
      const init = { method: "POST", headers, body: JSON.stringify(body), redirect: "error" as const };
      response = await fetchFn(url, signal === undefined ? init : { ...init, signal });
    } catch (cause) {
      if (signal?.aborted === true) throw cause;
      const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
      throw new CloudApiError(0, `${url.origin} cannot be reached: ${reason}`, undefined, undefined, cause);
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}

async function errorOf(response: Response): Promise<CloudApiError> {
  const text = await response.text();
  try {
    const { message, restate_code, request_id } = errorShape.parse(JSON.parse(text));
    return new CloudApiError(response.status, message, restate_code, request_id);
  } catch (cause) {
    return new CloudApiError(response.status, text.slice(0, SHOWN_CHARS_MAX) || response.statusText, undefined, undefined, cause);
  }
}

/** Characters shown of an answer that is not ours: enough to recognise a proxy. */
const SHOWN_CHARS_MAX = 300;

function answered<O extends { readonly response: z.ZodType }>(operation: O, response: Response): Promise<ResponseOf<O>> {
  const shape: O["response"] = operation.response;
  return parsed(shape, response);
}

async function parsed<S extends z.ZodType>(shape: S, response: Response): Promise<z.output<S>> {
  let body: unknown;
  try {
    body = await response.json();
  } catch (cause) {
    throw new CloudApiError(
      response.status,
      "the response is not valid JSON: this is not the address of a cloud",
      undefined,
      undefined,
      cause,
    );
  }
  const result = shape.safeParse(body);
  if (result.success) return result.data;
  throw new CloudApiError(response.status, `the answer has an unexpected shape: ${result.error.message}`, undefined, undefined);
}
