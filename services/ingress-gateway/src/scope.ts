/** Why: scopes and limit keys are syntax of the wire even where flow control is off: callers hear of a bad one first (ingress.md §6). */
import { utf8 } from "@perdure/base";
import { limitKeyComponentsMax, scopeBytesMax } from "./limits.js";
import { badLimitKey, badScope, type Refusal } from "./refusal.js";

const ALLOWED = /^[a-zA-Z0-9_.-]+$/;

export function checkScope(scope: string): Refusal | undefined {
  const problem = componentProblem(scope);
  return problem === undefined ? undefined : badScope(problem);
}

/** One or two components, `a` or `a/b`. The empty text counts as no limit key and is the caller's to sort out. */
export function checkLimitKey(limitKey: string): Refusal | undefined {
  const components = limitKey.split("/", limitKeyComponentsMax + 1);
  if (components.length > limitKeyComponentsMax) {
    return badLimitKey(`too many path components in the given limit-key (max ${limitKeyComponentsMax})`);
  }
  for (const component of components) {
    const problem = componentProblem(component);
    if (problem !== undefined) return badLimitKey(`invalid limit-key component: ${problem}`);
  }
  return undefined;
}

function componentProblem(text: string): string | undefined {
  if (text === "") return "value cannot be empty";
  const bytes = utf8(text).length;
  if (bytes > scopeBytesMax) return `value too long: ${bytes} bytes (max ${scopeBytesMax})`;
  return ALLOWED.test(text) ? undefined : "value contains characters outside the allowed set [a-zA-Z0-9_.-]";
}
