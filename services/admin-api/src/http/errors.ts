/** Converts all errors to one form: JSON with `message` and `restate_code` (null where there is no code). */
import { type ErrorCode, PerdureError } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import { type ApiAnswer, json } from "./answer.js";

/** An error that a route answers with on purpose. */
export class RouteError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ErrorCode | undefined;
  readonly headers: Readonly<Record<string, string>>;

  /** The message has the code in front, as all coded errors do. */
  constructor(status: number, detail: string, code?: ErrorCode, headers: Readonly<Record<string, string>> = {}) {
    super(code === undefined ? detail : `[${code}] ${detail}`);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The answer for a value that a route threw. `isOurs` is false for unexpected errors, whose text stays in the logs. */
export function answerOfError(cause: unknown): { readonly answer: ApiAnswer; readonly isOurs: boolean } {
  if (cause instanceof RouteError)
    return { answer: errorAnswer(cause.status, cause.message, cause.code, cause.headers), isOurs: true };
  if (cause instanceof RegistryRefusal) return { answer: errorAnswer(cause.status, cause.message, cause.code), isOurs: true };
  if (cause instanceof URIError)
    return { answer: errorAnswer(400, "Invalid URL: it is not percent-encoded UTF-8", undefined), isOurs: true };
  const error = PerdureError.from(cause);
  return { answer: errorAnswer(error.http, error.message, error.code), isOurs: error === cause };
}

function errorAnswer(
  status: number,
  message: string,
  code: ErrorCode | undefined,
  headers: Readonly<Record<string, string>> = {},
) {
  return json(status, { message, restate_code: code ?? null }, headers);
}
