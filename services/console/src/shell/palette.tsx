/** Why: everything is reached with the keyboard: Ctrl+K (⌘K) asks where to go; an id of an invocation leads to it. */
import { useEffect, useId, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { Dialog } from "../kit/dialog.js";
import type { NavGroup } from "./frame.js";
import "./palette.css";

interface Place {
  readonly href: string;
  readonly label: string;
  readonly words: string;
}

export interface PaletteProps {
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

function Search({ groups, onDone }: { readonly groups: readonly NavGroup[]; readonly onDone: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [, go] = useLocation();
  const list = useId();
  const found = useMemo(() => placesFor(text, groups), [text, groups]);
  const at = Math.min(chosen, Math.max(0, found.length - 1));
  const enter = (place: Place | undefined) => {
    if (place === undefined) return;
    go(place.href);
    onDone();
  };
  return (
    <>
      <input
        className="input"
        placeholder="A page, or the id of an invocation"
        aria-label="A page, or the id of an invocation"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found.length === 0 ? undefined : `${list}-${at}`}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setChosen(Math.min(at + 1, found.length - 1));
          else if (event.key === "ArrowUp") setChosen(Math.max(0, at - 1));
          else if (event.key === "Enter") enter(found[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div role="listbox" id={list} aria-label="Pages" className="palette">
        {found.map((place, i) => (
          // The keys are heard by the input above.
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above
          <div
            key={place.href}
            id={`${list}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            className="palette__place"
            onClick={() => enter(place)}
          >
            {place.label}
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="quiet">No page is called that.</p>}
    </>
  );
}

function placesFor(text: string, groups: readonly NavGroup[]): readonly Place[] {
  const wanted = text.trim();
  if (/^inv_1\w{20,60}$/.test(wanted)) return [{ href: `/invocations/${wanted}`, label: `Invocation ${wanted}`, words: "" }];
  const places = groups.flatMap((group) =>
    group.links.map(({ href, label, words = "" }) => ({ href, label, words: `${group.label} ${label} ${words}`.toLowerCase() })),
  );
  const asked = wanted.toLowerCase();
  const parts = asked.split(/\s+/);
  const found = places.filter(({ words }) => parts.every((part) => words.includes(part)));
  // What is called so comes before what only has to do with it.
  const isCalled = ({ label }: Place) => label.toLowerCase().startsWith(asked);
  return [...found.filter(isCalled), ...found.filter((place) => !isCalled(place))];
}
