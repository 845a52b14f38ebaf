/** A user who scrolls down reaches the rows below next; those are read first, and more of them. Pure. */
import { ROWS_AHEAD, ROWS_AHEAD_MOVING, ROWS_BEHIND } from "./limits.js";

/** Rows to load when `first` to `last` are visible, as for `slice`; `moved`: how far the window has moved since the last time. */
export function aheadOf(first: number, last: number, moved: number): { readonly from: number; readonly to: number } {
  const above = moved === 0 ? ROWS_AHEAD : moved < 0 ? ROWS_AHEAD_MOVING : ROWS_BEHIND;
  const below = moved === 0 ? ROWS_AHEAD : moved > 0 ? ROWS_AHEAD_MOVING : ROWS_BEHIND;
  return { from: Math.max(0, first - above), to: last + 1 + below };
}
