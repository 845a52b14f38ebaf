/**
 * Logs each failure once in full, except repeated ones: an unreachable database fails every request alike, and a client that hangs up is
 * not a failure.
 */
import { type Logger, PerdureError, type SummaryLog } from "@perdure/base";

export interface ApiFailurePorts {
  readonly logger: Logger;
  readonly failures: SummaryLog;
}

/** `fields`: fields of the request; `message`: constant. */
export function logFailure({ logger, failures }: ApiFailurePorts, cause: unknown, fields: object, message: string): void {
  if (isHungUp(cause)) return logger.debug(fields, "a client hung up before it had the answer");
  const { code, detail } = PerdureError.from(cause);
  if (code !== "STO0001" && code !== "OPS0004") return logger.error({ error: cause, ...fields }, message);
  failures.warn(logger, { service: "tenancy", code }, { code, reason: detail, ...fields }, message);
}

/** `pipeline` rejects with this when the response closes before its end. */
function isHungUp(cause: unknown): boolean {
  return typeof cause === "object" && cause !== null && "code" in cause && cause.code === "ERR_STREAM_PREMATURE_CLOSE";
}
