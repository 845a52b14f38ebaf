/** Converts every error of a database to one error code for callers. */
import { PerdureError } from "@perdure/base";

export function failure(cause: unknown): PerdureError {
  if (cause instanceof PerdureError) return cause;
  const reason = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : String(cause);
  return new PerdureError("STO0001", `the database failed: ${reason}`, { cause });
}
