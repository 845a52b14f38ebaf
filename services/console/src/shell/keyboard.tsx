/** Shortcuts: two letters open a page, and `?` lists all of them. Single-letter keys can be turned off. */
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import { CheckField, Dialog } from "../kit/index.js";
import type { NavGroup } from "./frame.js";
import { areLetterKeysEnabled, LETTERS_STORED, pageKeys, subscribeToPageKeys } from "./page-keys.js";
import { type PendingPrefix, shortcutOf } from "./shortcuts.js";
import "./keyboard.css";

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
      <Keys groups={groups} />
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

const GENERAL = [
  ["Go to a page, or to an invocation by its id", ["Ctrl", "K"]],
  ["These keys", ["?"]],
  ["Close dialog or menu", ["Esc"]],
  ["Run or send, in an editor", ["Ctrl", "Enter"]],
] as const;

function Keys({ groups }: { readonly groups: readonly NavGroup[] }) {
  const links = groups.flatMap((group) => group.links);
  const ofPage = useSyncExternalStore(subscribeToPageKeys, pageKeys);
  return (
    <div className="keys">
      {ofPage.length > 0 && (
        <dl className="keys__list" aria-label="On this page">
          {ofPage.map(([what, keys]) => (
            <Entry key={what} what={what} keys={keys} />
          ))}
        </dl>
      )}
      <dl className="keys__list">
        {GENERAL.map(([what, keys]) => (
          <Entry key={what} what={what} keys={keys} />
        ))}
      </dl>
      <dl className="keys__list">
        {links.map(({ href, label, letter }) =>
          letter === undefined ? null : <Entry key={href} what={label} keys={["g", letter]} />,
        )}
      </dl>
    </div>
  );
}

function Entry({ what, keys }: { readonly what: string; readonly keys: readonly string[] }) {
  return (
    <div className="keys__entry">
      <dt>{what}</dt>
      <dd className="nowrap">
        {keys.map((key) => (
          <kbd key={key} className="key">
            {key}
          </kbd>
        ))}
      </dd>
    </div>
  );
}
