/** Why: an error that leaves the program carries a code of the catalogue, so that people can look it up and tools can branch on it. */
import { catalogue, type ErrorCode } from "./catalogue.js";

/** A coded error. `message` is `[CODE] detail`; `detail` is for whoever made the request, so it holds no secrets and no payloads. */
export class PerdureError extends Error {
  override readonly name = "PerdureError";
  readonly code: ErrorCode;
  readonly detail: string;

  constructor(code: ErrorCode, detail: string, options?: { cause?: unknown }) {
    super(`[${code}] ${detail}`, options);
    this.code = code;
    this.detail = detail;
  }

  /** HTTP status an edge answers with. */
  get http(): number {
    return catalogue[this.code].http;
  }

  /** gRPC status name for calls between roles. */
  get grpc(): string {
    return catalogue[this.code].grpc;
  }

  /** The error itself when it is ours; a stranger becomes `OPS0003`, and its text stays in `cause`, for the logs only. */
  static from(cause: unknown): PerdureError {
    if (cause instanceof PerdureError) return cause;
    return new PerdureError("OPS0003", "internal error", { cause });
  }
}
