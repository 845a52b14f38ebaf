/** Shortcuts: two letters open a page, and `?` lists all of them. Single-letter keys can be turned off. */
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { CheckField, Dialog, Loading } from "../kit/index.js";
import type { NavGroup } from "./frame.js";
import { areLetterKeysEnabled, LETTERS_STORED } from "./page-keys.js";
import { type PendingPrefix, shortcutOf } from "./shortcuts.js";

/** Few users open the list. */
const ShortcutList = lazy(() => import("./shortcut-list.js"));

interface KeyboardProps {
  readonly groups: readonly NavGroup[];
  readonly isHelpOpen: boolean;
  readonly onHelp: (isOpen: boolean) => void;
}

export function Keyboard({ groups, isHelpOpen, onHelp }: KeyboardProps) {
  const [isOn, setOn] = useState(areLetterKeysEnabled);
  const [, go] = useLocation();
  const waiting = useRef<PendingPrefix>(undefined);
  useEffect(() => {
    if (!isOn) return;
    const listen = (event: KeyboardEvent) => {
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
      const action = shortcutOf(
        { key: event.key, hasModifier, isReserved: isReserved(event) },
        waiting.current,
        event.timeStamp,
        groups,
      );
      waiting.current = action.kind === "waits" ? { sinceMs: event.timeStamp } : undefined;
      if (action.kind === "nothing") return;
      event.preventDefault();
      if (action.kind === "help") onHelp(true);
      else if (action.kind === "go") go(action.href);
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [isOn, groups, go, onHelp]);
  const choose = (on: boolean) => {
    setOn(on);
    if (on) localStorage.removeItem(LETTERS_STORED);
    else localStorage.setItem(LETTERS_STORED, "off");
  };
  return (
    <Dialog title="Keyboard shortcuts" isOpen={isHelpOpen} onClose={() => onHelp(false)} isWide>
      <Suspense fallback={<Loading />}>
        <ShortcutList groups={groups} />
      </Suspense>
      <CheckField label="Single-key shortcuts" isOn={isOn} onChange={choose} />
    </Dialog>
  );
}

/** Keys are text there, or belong to the open element. */
function isReserved(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || document.querySelector("[role=dialog], [role=menu], [role=listbox]") !== null) return true;
  const { target } = event;
  return target instanceof HTMLElement && (target.isContentEditable || target.closest("input, textarea, select") !== null);
}
