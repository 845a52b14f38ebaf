/** The palette: Ctrl+K (⌘K) opens pages and starts actions from the keyboard; an invocation id opens the invocation. */
import { useEffect, useId, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Dialog } from "../kit/dialog.js";
import type { NavGroup } from "./frame.js";
import { type PaletteItem, placesFor } from "./palette-search.js";
import { type PaletteEntry, readSources } from "./palette-sources.js";
import { chooseTheme } from "./theme.js";
import "./palette.css";

interface PaletteProps {
  readonly groups: readonly NavGroup[];
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
}

export function Palette({ groups, isOpen, onOpen }: PaletteProps) {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.key === "k" && (event.ctrlKey || event.metaKey))) return;
      event.preventDefault();
      onOpen(!isOpen);
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [isOpen, onOpen]);
  return (
    <Dialog title="Go to" isOpen={isOpen} onClose={() => onOpen(false)}>
      <Search groups={groups} onDone={() => onOpen(false)} />
    </Dialog>
  );
}

const THEMES: readonly PaletteEntry[] = (["dark", "light", "system"] as const).map((theme) => ({
  kind: "Action",
  label: `Theme: ${theme.charAt(0).toUpperCase()}${theme.slice(1)}`,
  keywords: "colours appearance",
  run: () => chooseTheme(theme),
}));

function Search({ groups, onDone }: { readonly groups: readonly NavGroup[]; readonly onDone: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [, go] = useLocation();
  const list = useId();
  const [entries, setEntries] = useState<readonly PaletteEntry[]>([]);
  useEffect(() => {
    let isOver = false;
    readSources((more) => {
      if (!isOver) setEntries(more);
    });
    return () => {
      isOver = true;
    };
  }, []);
  const matches = useMemo(() => placesFor(text, groups, [...entries, ...THEMES]), [text, groups, entries]);
  const at = Math.min(chosen, Math.max(0, matches.length - 1));
  const enter = (place: PaletteItem | undefined) => {
    if (place === undefined) return;
    onDone();
    if (place.href !== undefined) go(place.href);
    else place.run?.();
  };
  return (
    <>
      <input
        className="input"
        placeholder="Search pages, services, handlers, actions, or an invocation id"
        aria-label="Search pages, services, handlers, actions, or an invocation id"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={matches.length === 0 ? undefined : `${list}-${at}`}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setChosen(Math.min(at + 1, matches.length - 1));
          else if (event.key === "ArrowUp") setChosen(Math.max(0, at - 1));
          else if (event.key === "Enter") enter(matches[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div role="listbox" id={list} aria-label="Results" className="palette">
        {matches.map((place, i) => (
          // The input above handles the keys.
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above
          <div
            key={place.key}
            id={`${list}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            className="palette__place"
            onClick={() => enter(place)}
          >
            <span className="palette__label">{place.label}</span>
            {place.kind !== "Page" && <span className="quiet small">{place.kind}</span>}
          </div>
        ))}
      </div>
      {matches.length === 0 && <p className="quiet">No results.</p>}
    </>
  );
}
