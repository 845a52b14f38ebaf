/** New invocations come on top of a list while the user reads it; the rows must not move unless the user is at the top. Pure. */
import { HEAD_ROWS } from "./limits.js";
import { isSame, spliced } from "./listed-ids.js";
import type { Cursor, InvocationIdPage } from "./statements.js";

/** The list as it is on the screen. */
export interface Shown {
  /** Condition and sort. */
  readonly key: string;
  readonly ids: readonly string[];
  /** The list is longer than the head, or complete. */
  readonly isPaged: boolean;
  /** Start of the next page; undefined: there is none, or the first one was not read. */
  readonly next: Cursor | undefined;
  /** Time of the answer with the first page. */
  readonly pageAt: number;
}

export const NOTHING_SHOWN: Shown = { key: "", ids: [], isPaged: false, next: undefined, pageAt: 0 };

/** The list with one page more; rows that have moved down meanwhile keep their place. */
export function withPage(shown: Shown, { ids, next }: InvocationIdPage): Shown {
  const shownIds = new Set(shown.ids);
  return { ...shown, ids: [...shown.ids, ...ids.filter((id) => !shownIds.has(id))], next };
}

/** The server's answer. */
export interface ListResponse {
  readonly key: string;
  readonly head: readonly string[];
  /** The first page. */
  readonly page: InvocationIdPage | undefined;
  readonly pageAt: number;
  /** The user reads at no position that would move. */
  readonly mayMove: boolean;
}

/** The list after an answer; the same object when nothing changes. `ask again`: for the first page. */
export function nextShown(shown: Shown, { key, head, page, pageAt, mayMove }: ListResponse): Shown | "reload" {
  const isAll = head.length < HEAD_ROWS;
  if (shown.key !== key) return { key, ids: head, isPaged: isAll, next: undefined, pageAt: 0 };
  if (isAll && !shown.isPaged) return { ...shown, ids: head, isPaged: true };
  const isNewer = page !== undefined && shown.pageAt !== pageAt;
  if (isNewer && !isAll && (mayMove || !shown.isPaged)) {
    // Ids that the answer lacks, because it was requested before, are on top of it.
    return { ...shown, ids: spliced(page.ids, head) ?? page.ids, isPaged: true, next: page.next, pageAt };
  }
  // The user requested a newer list.
  if (!shown.isPaged && page !== undefined && !isNewer && !isAll) return "reload";
  if (!mayMove || !shown.isPaged) return shown;
  if (isSame(shown.ids.slice(0, head.length), head) && (!isAll || shown.ids.length === head.length)) return shown;
  if (isAll) return { ...shown, ids: head, next: undefined };
  const ids = spliced(shown.ids, head);
  return ids === undefined ? "reload" : { ...shown, ids };
}
