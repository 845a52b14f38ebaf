/**
 * Assertions. A broken assumption inside our own code is a bug and must not look like a user's failure. Code that catches an
 * `InvariantError` stops the part that broke instead of continuing with a guess.
 */

/** A bug in this program: a condition that always holds did not hold. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Throws `InvariantError` with `why` unless `condition` holds. `why` is a sentence about what should have been true. */
export function invariant(condition: unknown, why: string): asserts condition {
  if (!condition) throw new InvariantError(why);
}

/**
 * Returns a value that exists because of the code around it: an index within bounds that were checked, a key that was set. Throws
 * `InvariantError` when it does not. Unlike a cast it finds the bug where it is.
 */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new InvariantError("a value that must exist is undefined");
  return value;
}

/** Ends a switch over a closed union: the compiler proves that no value arrives here; if one does, it throws `InvariantError`. */
export function unreachable(value: never): never {
  throw new InvariantError(`unhandled case: ${describe(value)}`);
}

/** The tag of a variant, never its data: an error text ends up in logs. */
function describe(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const tagged = value as { kind?: unknown; status?: unknown };
  return String(tagged.kind ?? tagged.status ?? "an object");
}
