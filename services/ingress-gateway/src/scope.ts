/** Why: scopes and limit keys are syntax of the wire even where flow control is off: callers hear of a bad one first (ingress.md §6). */
import { limitKeyProblem, scopeProblem } from "@perdure/base";
import { badLimitKey, badScope, type IngressRefusal } from "./refusal.js";

export function checkScope(scope: string): IngressRefusal | undefined {
  const problem = scopeProblem(scope);
  return problem === undefined ? undefined : badScope(problem);
}

/** One or two components, `a` or `a/b`. The empty text counts as no limit key and is the caller's to sort out. */
export function checkLimitKey(limitKey: string): IngressRefusal | undefined {
  const problem = limitKeyProblem(limitKey);
  return problem === undefined ? undefined : badLimitKey(problem);
}
