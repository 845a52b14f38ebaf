/**
 * Why: when a called handler fails, its callers fail with the same failure, and one cause was counted as several rows. Rows that tell the
 * same failure along a chain of calls become one, of the handler where it began. Pure.
 */
import type { Trouble } from "./figures.js";

export interface Cause extends Trouble {
  /** Handlers that failed because of it, the nearest caller first, each with how many. */
  readonly callers: readonly { readonly handler: string; readonly count: number }[];
}

/** In the order of the rows, without those of callers. */
export function causesOf(troubles: readonly Trouble[]): readonly Cause[] {
  const parentOf = new Map<Trouble, Trouble>();
  for (const trouble of troubles) {
    const parent = trouble.status === "failed" ? callerOf(trouble, troubles) : undefined;
    if (parent !== undefined && !isAbove(trouble, parent, parentOf)) parentOf.set(trouble, parent);
  }
  const callers = new Set(parentOf.values());
  return troubles
    .filter((trouble) => !callers.has(trouble))
    .map((trouble) => ({ ...trouble, callers: chainOf(trouble, parentOf) }));
}

/** The row of the calling handler, when it has the same failure. */
function callerOf(trouble: Trouble, troubles: readonly Trouble[]): Trouble | undefined {
  if (trouble.caller === undefined) return undefined;
  const [service, handler] = [trouble.caller.split("/")[0], trouble.caller.split("/").at(-1)];
  return troubles.find(
    (each) =>
      each !== trouble &&
      each.status === "failed" &&
      each.service === service &&
      each.handler === handler &&
      each.code === trouble.code &&
      fingerprint(each.failure) === fingerprint(trouble.failure),
  );
}

/** Equal for failures that differ in numbers and ids only. */
export function fingerprint(failure: string | undefined): string {
  return (failure ?? "").replaceAll(/\b(inv|dp|sign)_\w+|\d+/g, "#");
}

/** Whether `below` is among the callers of `trouble`: handlers may call each other in a circle. */
function isAbove(below: Trouble, trouble: Trouble, parentOf: ReadonlyMap<Trouble, Trouble>): boolean {
  for (let at: Trouble | undefined = trouble; at !== undefined; at = parentOf.get(at)) if (at === below) return true;
  return false;
}

function chainOf(trouble: Trouble, parentOf: ReadonlyMap<Trouble, Trouble>): Cause["callers"] {
  const callers: { handler: string; count: number }[] = [];
  for (let at = parentOf.get(trouble); at !== undefined; at = parentOf.get(at)) {
    callers.push({ handler: `${at.service}/${at.handler}`, count: at.count });
  }
  return callers;
}
