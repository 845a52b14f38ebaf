/** Translates errors of opening or writing LevelDB into errors of the catalogue. */
import { causeCode, causeMessage, PerdureError } from "@perdure/base";

/** `what` names the directory in the message, e.g. "metadata directory". */
export function openFailure(directory: string, cause: unknown, what = "storage directory"): PerdureError {
  const inner = innerOf(cause);
  if (causeCode(inner) === "LEVEL_LOCKED")
    return new PerdureError("RT0005", `the ${what} ${directory} is locked by another process`, { cause });
  if (causeCode(inner) === "LEVEL_CORRUPTION")
    return new PerdureError("STO0003", `the ${what} ${directory} is damaged: ${causeMessage(inner)}`, { cause });
  const why = causeMessage(inner ?? cause);
  return new PerdureError(isFull(why) ? "STO0004" : "STO0001", `the ${what} ${directory} cannot be opened: ${why}`, { cause });
}

export function writeFailure(rows: number, cause: unknown): PerdureError {
  const why = causeMessage(innerOf(cause) ?? cause);
  return new PerdureError(isFull(why) ? "STO0004" : "STO0001", `writing ${rows} rows failed: ${why}`, { cause });
}

/** LevelDB's own error, which the error of the binding wraps. */
function innerOf(cause: unknown): unknown {
  return typeof cause === "object" && cause !== null && "cause" in cause ? cause.cause : undefined;
}

function isFull(why: string): boolean {
  return /no space left on device/i.test(why);
}
