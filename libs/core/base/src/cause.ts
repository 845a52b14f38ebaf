/**
 * Facts about what a `catch` has received, which may be any value. `instanceof Error` is not enough: errors of another realm (a context of
 * `node:vm`) are not instances of the `Error` of this one.
 */

/** The message of an error; any other value as text. */
export function causeMessage(cause: unknown): string {
  if (typeof cause !== "object" || cause === null || !("message" in cause)) return String(cause);
  return typeof cause.message === "string" ? cause.message : String(cause);
}

/** `code` of an error of Node or of a library, such as `ENOENT`; undefined when there is none, or it is not a text. */
export function causeCode(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined;
  return typeof cause.code === "string" ? cause.code : undefined;
}
