/**
 * Why: scopes, limit keys and the patterns of rules are written at several doors, and callers are told the same of a bad one at
 * each (ingress.md §6, service-protocol.md §5.1). The texts are those of the reference; clients print them.
 */
import { utf8 } from "./bytes.js";
import { SCOPE_BYTES_MAX } from "./limits.js";

/** Levels a limit key may have: `a` or `a/b`. */
export const LIMIT_KEY_LEVELS_MAX = 2;

const ALLOWED = /^[a-zA-Z0-9_.-]+$/;

/** Why the text is no scope, or no level of a limit key; undefined when it is one. */
export function scopeProblem(text: string): string | undefined {
  if (text === "") return "value cannot be empty";
  const bytes = utf8(text).length;
  if (bytes > SCOPE_BYTES_MAX) return `value too long: ${bytes} bytes (max ${SCOPE_BYTES_MAX})`;
  return ALLOWED.test(text) ? undefined : "value contains characters outside the allowed set [a-zA-Z0-9_.-]";
}

/** Why the text is no limit key; undefined when it is one. The empty text means "none" and is the caller's to sort out. */
export function limitKeyProblem(text: string): string | undefined {
  const levels = text.split("/", LIMIT_KEY_LEVELS_MAX + 1);
  if (levels.length > LIMIT_KEY_LEVELS_MAX)
    return `too many path components in the given limit-key (max ${LIMIT_KEY_LEVELS_MAX})`;
  for (const level of levels) {
    const problem = scopeProblem(level);
    if (problem !== undefined) return `invalid limit-key component: ${problem}`;
  }
  return undefined;
}
