/** The error of all clients: code, status and source of the answer determine the advice on what to do next. */
import { isErrorCode } from "@perdure/base/errors";
import { SHOWN_CHARS_MAX } from "./limits.js";
import type { TransportResponse } from "./transport.js";

/** The API refused the request, or no server answered. `message` is without the code in front. */
export class AdminApiError extends Error {
  override readonly name = "AdminApiError";
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** `META0003`, `PERD0403` …; undefined when the answer has none. */
  readonly code: string | undefined;
  /** Advice in a sentence or two; undefined when `message` is enough, in particular for codes without advice. */
  readonly advice: string | undefined;
  /** Id by which operators find the request in the server's logs. */
  readonly requestId: string | undefined;
  /** The JSON body of the refusal, which may have more details (a deploy check: its findings); undefined when it is not JSON. */
  readonly body: unknown;

  constructor(
    status: number,
    message: string,
    more: Partial<Pick<AdminApiError, "code" | "advice" | "requestId" | "body" | "cause">> = {},
  ) {
    super(message, { cause: more.cause });
    this.status = status;
    this.code = more.code;
    this.advice = (more.advice ?? adviceFor(status, more.code)) || undefined;
    this.requestId = more.requestId;
    this.body = more.body;
  }
}

/** Returns the error for a server at `origin` that did not answer. */
export function unreachable(origin: string, cause: unknown): AdminApiError {
  return new AdminApiError(0, `${origin} cannot be reached: ${reasonOf(cause)}`, { cause });
}

/** The innermost message: `connect ECONNREFUSED` is more precise than `fetch failed`. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.cause instanceof Error) return reasonOf(cause.cause);
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors.at(-1));
  return cause.message;
}

/** The error of an unsuccessful answer. Answers of the API are `{message, restate_code?, request_id?}`; proxies answer with any text. */
export function errorOf(response: TransportResponse): AdminApiError {
  const text = new TextDecoder().decode(response.body);
  const body = jsonOf(text);
  const fields: Readonly<Record<string, unknown>> = isRecord(body) ? body : {};
  const { message, restate_code, request_id } = fields;
  const code = typeof restate_code === "string" ? restate_code : undefined;
  const requestId = typeof request_id === "string" ? request_id : response.header("x-request-id");
  const said = typeof message === "string" ? withoutCode(message, code) : text.slice(0, SHOWN_CHARS_MAX).trim();
  return new AdminApiError(response.status, said === "" ? `answered ${response.status}` : said, { code, requestId, body });
}

function withoutCode(message: string, code: string | undefined): string {
  const prefix = `[${code}] `;
  return code !== undefined && message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Advice by code, where the caller can act; the page of the code has more (`perdure errors CODE`; the console has all pages). */
const ADVICE_BY_CODE: Readonly<Record<string, string>> = {
  META0003:
    "Check that the endpoint runs and that the server can reach this address from where it is; in containers `localhost` is another one.",
  META0004: "It is registered already. Use --force when its code has changed at the same address.",
  META0006: "Restore what is missing, or register with --breaking when it is no longer called.",
  META0014: "Register it with --use-http1.1.",
  META0017: "Remove the deployments at this address that nothing runs on any more, then register again.",
  META0101:
    "Fix the code, or give it an address of its own so that the old one finishes its work; --breaking registers it all the same.",
  TEN0002: "Remove what is not needed any more, or choose a larger plan.",
  TEN0003: "Purge completed invocations, clear state that is not needed, or choose a larger plan.",
  PERD0101: "Wait some seconds and try again: the environment is being set up.",
  PERD0102: "`perdure env logs` shows the reason; `perdure env resume` tries again.",
  PERD0110: "The environment is suspended: `perdure env resume`.",
  PERD0201: "Delete what is not needed any more, or let an owner of the account choose a larger plan.",
  PERD0429: "Wait a moment: the plan of this environment allows no more requests now.",
};

const ADVICE_BY_STATUS: Readonly<Record<number, string>> = {
  0: "Is the server running? `perdure dev` starts one; `perdure env use` chooses another environment.",
  401: "Log in with `perdure login`, or set an API key for this environment.",
  403: "Your credentials do not allow this here.",
  413: "Send less at once.",
  429: "Wait a moment and try again.",
  502: "The server behind this address does not answer; try again in a moment.",
  503: "The server cannot do this now; try again in a moment.",
};

/** Codes of our own have a page, which is more precise than advice by status. */
function adviceFor(status: number, code: string | undefined): string | undefined {
  if (code === undefined) return ADVICE_BY_STATUS[status];
  return ADVICE_BY_CODE[code] ?? (isErrorCode(code) ? undefined : ADVICE_BY_STATUS[status]);
}
