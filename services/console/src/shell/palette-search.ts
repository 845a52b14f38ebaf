/** Why: what the palette shows for what was typed: names that begin so first, then those that have it, then what has to do with it. Pure. */
import type { NavGroup } from "./frame.js";
import type { PaletteEntry } from "./palette-sources.js";

/** More are not read; a longer text finds fewer. */
const SHOWN_MAX = 40;

export interface Place extends PaletteEntry {
  readonly key: string;
}

export function placesFor(text: string, groups: readonly NavGroup[], entries: readonly PaletteEntry[]): readonly Place[] {
  const wanted = text.trim();
  if (/^inv_1\w{20,60}$/.test(wanted)) {
    return [{ key: wanted, kind: "Invocation", href: `/invocations/${wanted}`, label: `Invocation ${wanted}` }];
  }
  const pages = groups.flatMap((group) =>
    group.links.map(
      ({ href, label, words = "" }): Place => ({ key: href, kind: "Page", href, label, words: `${group.label} ${words}` }),
    ),
  );
  // Without a text only pages and actions are shown: there may be thousands of the others.
  const others = entries
    .filter(({ kind }) => wanted !== "" || kind === "Action")
    .map((entry): Place => ({ ...entry, key: `${entry.kind} ${entry.href ?? ""} ${entry.label}` }));
  const asked = wanted.toLowerCase();
  const parts = asked.split(/\s+/);
  return [...pages, ...others]
    .filter(({ label, kind, words = "" }) => {
      const all = `${kind} ${label} ${words}`.toLowerCase();
      return parts.every((part) => all.includes(part));
    })
    .map((place) => ({ place, rank: rankOf(place.label.toLowerCase(), asked) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, SHOWN_MAX)
    .map(({ place }) => place);
}

function rankOf(label: string, asked: string): number {
  if (label.startsWith(asked)) return 0;
  return label.includes(asked) ? 1 : 2;
}
