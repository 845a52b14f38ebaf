/** Copies of deleted records, with which a deletion can be undone for a while. They are written with the deletion, all or nothing. */
import type { OperationId } from "@perdure/base";

/** `alreadyRestored`: a repetition. `notKept`: the deletion kept no copy, or it was dropped. */
export type RestoreOutcome = "restored" | "alreadyRestored" | "notKept";

/** Key of the copy that a deletion keeps. */
export function deletedKey(operation: OperationId): string {
  return `deleted/${operation}`;
}
