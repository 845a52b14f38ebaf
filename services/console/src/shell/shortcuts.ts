/** Decides what a key means, without a reference to pages: `g` and a letter open a page, `?` lists all keys. Pure. */
import type { NavGroup } from "./frame.js";

export interface Press {
  readonly key: string;
  /** Whether Ctrl, ⌘ or Alt is pressed: then the key belongs to the browser, or to the palette. */
  readonly hasModifier: boolean;
  /** A field for text, or an open element that handles keys. */
  readonly isReserved: boolean;
}

/** The key that was pressed before: `g` waits a moment for the second letter. */
export interface PendingPrefix {
  readonly sinceMs: number;
}

type ShortcutAction =
  | { readonly kind: "nothing" }
  | { readonly kind: "waits" }
  | { readonly kind: "help" }
  | { readonly kind: "go"; readonly href: string };

/** Time for the second letter after `g`. */
const LETTER_WAIT_MS = 1_500;

const NOTHING: ShortcutAction = { kind: "nothing" };

export function shortcutOf(
  press: Press,
  waiting: PendingPrefix | undefined,
  nowMs: number,
  groups: readonly NavGroup[],
): ShortcutAction {
  if (press.hasModifier || press.isReserved) return NOTHING;
  if (waiting !== undefined && nowMs - waiting.sinceMs <= LETTER_WAIT_MS) {
    const link = groups.flatMap(({ links }) => links).find(({ letter }) => letter === press.key);
    return link === undefined ? NOTHING : { kind: "go", href: link.href };
  }
  if (press.key === "?") return { kind: "help" };
  return press.key === "g" ? { kind: "waits" } : NOTHING;
}
