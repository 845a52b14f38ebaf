/** Errors of the Cloud API, in the form that both the official command line and the console read (cloud.md §1.4). */
import { PerdureError } from "@perdure/base";

/** `restate_code` of this API's answers. */
type ApiCode =
  | "PERD0201"
  | "PERD0400"
  | "PERD0401"
  | "PERD0403"
  | "PERD0404"
  | "PERD0405"
  | "PERD0408"
  | "PERD0409"
  | "PERD0413"
  | "PERD0428"
  | "PERD0429"
  | "PERD0500"
  | "PERD0502"
  | "PERD0503"
  | "PERD0504";

const STATUS: Readonly<Record<ApiCode, number>> = {
  PERD0201: 403,
  PERD0400: 400,
  PERD0401: 401,
  PERD0403: 403,
  PERD0404: 404,
  PERD0405: 405,
  PERD0408: 408,
  PERD0409: 409,
  PERD0413: 413,
  /** The page must confirm the user's presence: no status of its own, so that proxies do not interpret it. */
  PERD0428: 403,
  PERD0429: 429,
  PERD0500: 500,
  PERD0502: 502,
  PERD0503: 503,
  PERD0504: 504,
};

/** An error that an operation answers on purpose. */
export class TenancyApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ApiCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }

  get status(): number {
    return STATUS[this.code];
  }
}

export type PlanQuota = "accounts" | "environments" | "keys" | "members";

/** The plan allows no more of these. */
export class PlanLimitError extends TenancyApiError {
  readonly quota: PlanQuota;

  constructor(quota: PlanQuota, message: string) {
    super("PERD0201", message);
    this.quota = quota;
  }
}

/** The same for foreign accounts and for unknown ones, so that the answer does not reveal which accounts exist (cloud.md §1.9, T30). */
export function notAMember(): TenancyApiError {
  return new TenancyApiError("PERD0403", "You are not a member of this account");
}

export function unauthenticated(hadCredential: boolean): TenancyApiError {
  const challenge = hadCredential ? 'Bearer realm="perdure", error="invalid_token"' : 'Bearer realm="perdure"';
  const message = hadCredential ? "The access token is not valid, or expired: log in again" : "An access token is needed: log in";
  return new TenancyApiError("PERD0401", message, { "www-authenticate": challenge });
}

/**
 * Any other error becomes an internal error, whose text is only logged; an unreachable database becomes an error that callers may retry.
 */
export function apiErrorOf(cause: unknown): { readonly error: TenancyApiError; readonly isExpected: boolean } {
  if (cause instanceof TenancyApiError) return { error: cause, isExpected: true };
  const { code } = PerdureError.from(cause);
  if (code === "STO0001" || code === "OPS0004") {
    const error = new TenancyApiError("PERD0503", "The service is not available at the moment: try again", {
      "retry-after": "1",
    });
    return { error, isExpected: false };
  }
  return { error: new TenancyApiError("PERD0500", "Internal error"), isExpected: false };
}

export function errorBody(error: TenancyApiError, requestId: string): object {
  return { code: error.status, message: error.message, restate_code: error.code, request_id: requestId };
}
