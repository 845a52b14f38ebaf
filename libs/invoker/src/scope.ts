/** Scopes and limit keys of protocol 7 belong to flow control, which this server does not offer: their use is RT0024. */
import { type Refusal, refused } from "./attempt-failure.js";
import { SCOPE_CHARS_MAX } from "./limits.js";

const LEVEL = new RegExp(`^[a-zA-Z0-9_.-]{1,${SCOPE_CHARS_MAX}}$`);

/** Empty equals absent. Undefined: nothing to object to. */
export function checkScope(scope: string | undefined, limitKey?: string): Refusal | undefined {
  const hasScope = scope !== undefined && scope !== "";
  const hasLimitKey = limitKey !== undefined && limitKey !== "";
  if (!hasScope) return hasLimitKey ? refused("RT0024", "a limit key needs a scope") : undefined;
  if (!LEVEL.test(scope)) return refused("RT0024", `a scope is 1 to ${SCOPE_CHARS_MAX} characters of a-z, A-Z, 0-9, _, . and -`);
  if (hasLimitKey && !isLimitKey(limitKey)) {
    return refused(
      "RT0024",
      `a limit key is one or two levels of 1 to ${SCOPE_CHARS_MAX} characters of a-z, A-Z, 0-9, _, . and -`,
    );
  }
  return refused("RT0024", "a scope was given, but flow control is not enabled");
}

function isLimitKey(limitKey: string): boolean {
  const levels = limitKey.split("/");
  return levels.length <= 2 && levels.every((level) => LEVEL.test(level));
}
