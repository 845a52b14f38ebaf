/** Converts every error of a database to one error code for callers. */
import { causeCode, PerdureError } from "@perdure/base";

export function failure(cause: unknown): PerdureError {
  if (cause instanceof PerdureError) return cause;
  const reason = cause instanceof Error ? cause.message || String(causeCode(cause)) : String(cause);
  return new PerdureError("STO0001", `the database failed: ${reason}`, { cause });
}
