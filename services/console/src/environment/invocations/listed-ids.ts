/** Ids of a list, and of the newest head of it. Pure. */
import { HEAD_ROWS } from "./limits.js";

/** Number of ids in the head above the listed ones; undefined when the two do not overlap. */
export function freshCount(listed: readonly string[], head: readonly string[]): number | undefined {
  if (head.length === 0) return 0;
  if (listed.length === 0) return head.length;
  const top = new Set(listed.slice(0, 2 * HEAD_ROWS));
  const first = head.findIndex((id) => top.has(id));
  return first < 0 ? undefined : first;
}

/**
 * The list with the newest head on top. A head that is not full is the whole list. Undefined when they do not overlap: more have come than
 * a head holds, and the whole list must be requested again.
 */
export function spliced(listed: readonly string[], head: readonly string[]): readonly string[] | undefined {
  const last = head.at(-1);
  if (last === undefined || head.length < HEAD_ROWS) return head;
  const at = listed.indexOf(last);
  if (at < 0) return undefined;
  const inHead = new Set(head);
  return [...head, ...listed.slice(at + 1).filter((id) => !inHead.has(id))];
}

export function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((id, i) => id === others[i]);
}
