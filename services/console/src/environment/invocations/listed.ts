/** Why: new invocations come on top of a list that somebody reads; what stands there must not move unless they look at its top. Pure. */
import { HEAD_ROWS } from "./limits.js";

/** How many of the head are above what is listed; undefined when they have nothing in common. */
export function freshCount(listed: readonly string[], head: readonly string[]): number | undefined {
  if (head.length === 0) return 0;
  if (listed.length === 0) return head.length;
  const top = new Set(listed.slice(0, 2 * HEAD_ROWS));
  const first = head.findIndex((id) => top.has(id));
  return first < 0 ? undefined : first;
}

/**
 * The list with the newest head on top. A head that is not full is the whole list. Undefined when they do not meet: more have come
 * than a head holds, and the whole must be asked for again.
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

/** The list as it is on the screen. */
export interface Shown {
  /** Condition and sort. */
  readonly key: string;
  readonly ids: readonly string[];
  readonly isWhole: boolean;
  /** When the answer came that it was made from. */
  readonly wholeAt: number;
}

export const NOTHING_SHOWN: Shown = { key: "", ids: [], isWhole: false, wholeAt: 0 };

/** What the server has said. */
export interface Known {
  readonly key: string;
  readonly head: readonly string[];
  readonly whole: readonly string[] | undefined;
  readonly wholeAt: number;
  /** Nobody reads at a place that would move. */
  readonly mayMove: boolean;
}

/** The list after an answer; the same object when nothing changes. `ask again`: for the whole. */
export function nextShown(shown: Shown, { key, head, whole, wholeAt, mayMove }: Known): Shown | "ask again" {
  const isWhole = head.length < HEAD_ROWS;
  if (shown.key !== key) return { key, ids: head, isWhole, wholeAt: 0 };
  if (isWhole && !shown.isWhole) return { ...shown, ids: head, isWhole };
  const isNewer = whole !== undefined && shown.wholeAt !== wholeAt;
  if (isNewer && !isWhole && (mayMove || !shown.isWhole)) {
    // What it does not know of, because it was asked for before, is on top of it.
    return { ...shown, ids: spliced(whole, head) ?? whole, isWhole: true, wholeAt };
  }
  // Somebody wants it newer than it was.
  if (!shown.isWhole && whole !== undefined && !isNewer && !isWhole) return "ask again";
  if (!mayMove || !shown.isWhole) return shown;
  if (isSame(shown.ids.slice(0, head.length), head) && (!isWhole || shown.ids.length === head.length)) return shown;
  const ids = spliced(shown.ids, head);
  return ids === undefined ? "ask again" : { ...shown, ids };
}
