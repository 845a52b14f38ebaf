/** Why: whatever goes wrong with a database has one name for those above. */
import { PerdureError } from "@perdure/base";

export function failure(cause: unknown): PerdureError {
  if (cause instanceof PerdureError) return cause;
  const reason = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : String(cause);
  return new PerdureError("STO0001", `the database failed: ${reason}`, { cause });
}
