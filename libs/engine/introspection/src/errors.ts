/** Distinguishes errors of callers from errors of the server. The engine throws plain errors whose messages begin with their kind. */
import { PerdureError } from "@perdure/base";
import { CELL_BYTES_MAX } from "./limits.js";
import type { SqlRefusal } from "./ports.js";

/** A statement that was parsed but must not run. */
export class NotAQuery extends Error {
  override readonly name = "NotAQuery";
}

/** A statement that would have to read more than the bound of one statement. */
export class TooMuchData extends Error {
  override readonly name = "TooMuchData";
}

/** A value, stored or of the result, that exceeds the bound of one value. */
export class ValueTooLarge extends Error {
  override readonly name = "ValueTooLarge";

  constructor(where: string, sizeBytes: number) {
    super(
      `${where} has ${sizeBytes} bytes, and a value of a query at most ${CELL_BYTES_MAX}: select its length, or leave it out`,
    );
  }
}

/** A value of the result that no output format can represent. */
export class ValueOutOfRange extends Error {
  override readonly name = "ValueOutOfRange";
}

/** The time limit of a statement has passed. */
export class TimedOut extends Error {
  override readonly name = "TimedOut";
}

export function refused(reason: SqlRefusal["reason"], message: string, retryAfterSeconds?: number): SqlRefusal {
  return { kind: "refused", reason, message, retryAfterSeconds };
}

const CALLERS_ERRORS =
  /^(?:Failed to extract statements: )?(?:Parser|Binder|Catalog|Conversion|Invalid Input|Out of Range|Constraint|Permission|Not implemented|Syntax|Invalid Type|Mismatch Type|Divide by Zero|Expression|Dependency|Parameter Not Resolved|Sequence|Cardinality|Invalid Configuration) Error: /i;

/** The engine's own error; the second form comes from table functions that the engine calls; the third is Node's, for a buffer. */
const NO_MEMORY = /^Out of Memory Error: |"exception_type":"Out of Memory"|^Array buffer allocation failed$/;

/**
 * The error for the caller when `cause` was thrown; `undefined` when the cause is an error of the server and its text is not for callers.
 */
export function refusalOf(cause: unknown): SqlRefusal | undefined {
  const message = messageOf(cause);
  if (
    cause instanceof NotAQuery ||
    cause instanceof TooMuchData ||
    cause instanceof ValueOutOfRange ||
    cause instanceof TimedOut
  ) {
    return refused("invalid", cause.message);
  }
  if (cause instanceof ValueTooLarge) return { ...refused("invalid", cause.message), code: "META0102" };
  // A store or archive that is unavailable.
  if (cause instanceof PerdureError && cause.http === 503) return refused("unavailable", cause.message);
  if (NO_MEMORY.test(message)) return refused("invalid", "the query needs more memory than one statement may use");
  return CALLERS_ERRORS.test(message) ? refused("invalid", plainMessage(message)) : undefined;
}

/** Whether the error means that the engine refuses all further work and must be opened again. */
export function isEngineBroken(cause: unknown): boolean {
  return /^(?:FATAL|INTERNAL) Error: /i.test(messageOf(cause));
}

/** Errors of a native library are not instances of this realm's `Error` when several realms share it. */
function messageOf(cause: unknown): string {
  const message = typeof cause === "object" && cause !== null && "message" in cause ? cause.message : undefined;
  return typeof message === "string" ? message : "";
}

/** Removes the excerpt of the statement, which needs a fixed-width font, and advice to use the engine's own catalog. */
export function plainMessage(message: string): string {
  return message
    .replace(/^Failed to extract statements: /, "")
    .replace(/\n+LINE \d+:[\s\S]*$/, "")
    .replace(/\n+Did you mean "(?:pg|duckdb|sqlite)_\w*"\?/, "")
    .trim();
}
