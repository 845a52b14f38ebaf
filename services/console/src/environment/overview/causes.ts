/**
 * When a called handler fails, its callers fail with the same failure, so one cause would be counted as several rows. Rows that have the
 * same failure along a chain of calls become one row, of the handler where it began. Pure.
 */
import type { InvocationIssue } from "./figures.js";

export interface Cause extends InvocationIssue {
  /** Handlers that failed because of it, the nearest caller first, each with how many. */
  readonly callers: readonly { readonly handler: string; readonly count: number }[];
}

/** Returns causes in the order of the rows, without the rows of callers. */
export function causesOf(issues: readonly InvocationIssue[]): readonly Cause[] {
  const parentOf = new Map<InvocationIssue, InvocationIssue>();
  for (const issue of issues) {
    const parent = issue.status === "failed" ? callerOf(issue, issues) : undefined;
    if (parent !== undefined && !isAbove(issue, parent, parentOf)) parentOf.set(issue, parent);
  }
  const callers = new Set(parentOf.values());
  return issues.filter((issue) => !callers.has(issue)).map((issue) => ({ ...issue, callers: chainOf(issue, parentOf) }));
}

/** The row of the calling handler, when it has the same failure. */
function callerOf(issue: InvocationIssue, issues: readonly InvocationIssue[]): InvocationIssue | undefined {
  if (issue.caller === undefined) return undefined;
  const [service, handler] = [issue.caller.split("/")[0], issue.caller.split("/").at(-1)];
  return issues.find(
    (each) =>
      each !== issue &&
      each.status === "failed" &&
      each.service === service &&
      each.handler === handler &&
      each.code === issue.code &&
      fingerprint(each.failure) === fingerprint(issue.failure),
  );
}

/** Equal for failures that differ in numbers and ids only. */
export function fingerprint(failure: string | undefined): string {
  return (failure ?? "").replaceAll(/\b(inv|dp|sign)_\w+|\d+/g, "#");
}

/** Whether `below` is among the callers of `trouble`: handlers may call each other in a circle. */
function isAbove(
  below: InvocationIssue,
  issue: InvocationIssue,
  parentOf: ReadonlyMap<InvocationIssue, InvocationIssue>,
): boolean {
  for (let at: InvocationIssue | undefined = issue; at !== undefined; at = parentOf.get(at)) if (at === below) return true;
  return false;
}

function chainOf(issue: InvocationIssue, parentOf: ReadonlyMap<InvocationIssue, InvocationIssue>): Cause["callers"] {
  const callers: { handler: string; count: number }[] = [];
  for (let at = parentOf.get(issue); at !== undefined; at = parentOf.get(at)) {
    callers.push({ handler: `${at.service}/${at.handler}`, count: at.count });
  }
  return callers;
}
