/** Translates errors of opening or writing LevelDB into errors of the catalogue. */
import { PerdureError } from "@perdure/base";

/** `what` names the directory in the message, e.g. "metadata directory". */
export function openFailure(directory: string, cause: unknown, what = "storage directory"): PerdureError {
  const inner = (cause as { cause?: { code?: unknown; message?: string } }).cause;
  if (inner?.code === "LEVEL_LOCKED")
    return new PerdureError("RT0005", `the ${what} ${directory} is locked by another process`, { cause });
  if (inner?.code === "LEVEL_CORRUPTION")
    return new PerdureError("STO0003", `the ${what} ${directory} is damaged: ${inner.message ?? ""}`, { cause });
  const why = inner?.message ?? (cause instanceof Error ? cause.message : String(cause));
  return new PerdureError(isFull(why) ? "STO0004" : "STO0001", `the ${what} ${directory} cannot be opened: ${why}`, { cause });
}

export function writeFailure(rows: number, cause: unknown): PerdureError {
  const inner = (cause as { cause?: { message?: string } } | undefined)?.cause;
  const why = inner?.message ?? (cause instanceof Error ? cause.message : String(cause));
  return new PerdureError(isFull(why) ? "STO0004" : "STO0001", `writing ${rows} rows failed: ${why}`, { cause });
}

function isFull(why: string): boolean {
  return /no space left on device/i.test(why);
}
