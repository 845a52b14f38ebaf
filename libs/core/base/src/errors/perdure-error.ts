/**
 * The error with a code of the catalogue. Every error that leaves the program has a code, so that operators find its page and tools can
 * branch on it.
 */
import { catalogue, type ErrorCode, type GrpcStatus } from "./catalogue.js";

/** A coded error. `message` is `[CODE] detail`; the client receives `detail`, so it holds no secrets and no payloads. */
export class PerdureError extends Error {
  override readonly name = "PerdureError";
  readonly code: ErrorCode;
  readonly detail: string;

  constructor(code: ErrorCode, detail: string, options?: { cause?: unknown }) {
    super(`[${code}] ${detail}`, options);
    this.code = code;
    this.detail = detail;
  }

  /** HTTP status of the answer. */
  get http(): number {
    return catalogue[this.code].http;
  }

  /** gRPC status name for calls between roles. */
  get grpc(): GrpcStatus {
    return catalogue[this.code].grpc;
  }

  /** The error itself when it is a `PerdureError`; any other becomes `OPS0003`, and its text stays in `cause`, for the logs only. */
  static from(cause: unknown): PerdureError {
    if (cause instanceof PerdureError) return cause;
    return new PerdureError("OPS0003", "internal error", { cause });
  }
}
