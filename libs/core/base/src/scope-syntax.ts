/**
 * Syntax of scopes, limit keys and the patterns of rules, which several APIs accept, with the same error texts at each (ingress.md §6,
 * service-protocol.md §5.1). The texts are those of the reference; clients print them.
 */
import { utf8 } from "./bytes.js";
import { SCOPE_BYTES_MAX } from "./limits.js";

/** Levels a limit key may have: `a` or `a/b`. */
export const LIMIT_KEY_LEVELS_MAX = 2;

const ALLOWED = /^[a-zA-Z0-9_.-]+$/;

/** Why the text is not a valid scope or level of a limit key; undefined when it is valid. */
export function scopeProblem(text: string): string | undefined {
  if (text === "") return "value cannot be empty";
  const bytes = utf8(text).length;
  if (bytes > SCOPE_BYTES_MAX) return `value too long: ${bytes} bytes (max ${SCOPE_BYTES_MAX})`;
  return ALLOWED.test(text) ? undefined : "value contains characters outside the allowed set [a-zA-Z0-9_.-]";
}

/** Why the text is not a valid limit key; undefined when it is valid. The caller handles the empty text, which means "none". */
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
