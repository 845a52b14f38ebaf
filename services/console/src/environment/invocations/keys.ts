/** The keys of the list, and their effects. Pure. */
import type { PageKey } from "../../shell/page-keys.js";

export const KEYS = [
  ["Next row, previous row", ["j", "k"]],
  ["First row, last row", ["Home", "End"]],
  ["Open the row", ["Enter"]],
  ["Select or deselect the row", ["x"]],
  ["Select all rows up to here", ["Shift", "x"]],
  ["Clear selection", ["Esc"]],
  ["Edit the filter", ["/"]],
  ["Show new invocations", ["n"]],
] as const satisfies readonly PageKey[];

/** The row that becomes active; `at` is -1 when none is. Undefined: no key that moves, or nowhere to go. */
export function moveOf(key: string, at: number, count: number, page: number): number | undefined {
  if (count === 0) return undefined;
  const last = count - 1;
  switch (key) {
    case "j":
    case "ArrowDown":
      return Math.min(at + 1, last);
    case "k":
    case "ArrowUp":
      return Math.max(0, at - 1);
    case "PageDown":
      return Math.min(Math.max(0, at) + page, last);
    case "PageUp":
      return Math.max(0, at - page);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}
