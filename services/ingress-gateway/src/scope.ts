/** Scopes and limit keys are validated even where flow control is off: callers get the error for a bad one first (ingress.md §6). */
import { limitKeyProblem, scopeProblem } from "@perdure/base";
import { badLimitKey, badScope, type IngressRefusal } from "./refusal.js";

export function checkScope(scope: string): IngressRefusal | undefined {
  const problem = scopeProblem(scope);
  return problem === undefined ? undefined : badScope(problem);
}

/** One or two components, `a` or `a/b`. The caller handles the empty text, which counts as no limit key. */
export function checkLimitKey(limitKey: string): IngressRefusal | undefined {
  const problem = limitKeyProblem(limitKey);
  return problem === undefined ? undefined : badLimitKey(problem);
}
