/** Search of the palette: names that begin with the text first, then those that contain it, then related entries. Pure. */
import type { NavGroup } from "./frame.js";
import type { PaletteEntry } from "./palette-sources.js";

/** Bound of the results: users do not read more, and a longer text finds fewer. */
const SHOWN_MAX = 40;

export interface PaletteItem extends PaletteEntry {
  readonly key: string;
}

export function placesFor(text: string, groups: readonly NavGroup[], entries: readonly PaletteEntry[]): readonly PaletteItem[] {
  const trimmed = text.trim();
  if (/^inv_1\w{20,60}$/.test(trimmed)) {
    return [{ key: trimmed, kind: "Invocation", href: `/invocations/${trimmed}`, label: `Invocation ${trimmed}` }];
  }
  const pages = groups.flatMap((group) =>
    group.links.map(
      ({ href, label, keywords = "" }): PaletteItem => ({
        key: href,
        kind: "Page",
        href,
        label,
        keywords: `${group.label} ${keywords}`,
      }),
    ),
  );
  // Without a text only pages and actions are shown: there may be thousands of the others.
  const others = entries
    .filter(({ kind }) => trimmed !== "" || kind === "Action")
    .map((entry): PaletteItem => ({ ...entry, key: `${entry.kind} ${entry.href ?? ""} ${entry.label}` }));
  const term = trimmed.toLowerCase();
  const parts = term.split(/\s+/);
  return [...pages, ...others]
    .filter(({ label, kind, keywords = "" }) => {
      const all = `${kind} ${label} ${keywords}`.toLowerCase();
      return parts.every((part) => all.includes(part));
    })
    .map((place) => ({ place, rank: rankOf(place.label.toLowerCase(), term) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, SHOWN_MAX)
    .map(({ place }) => place);
}

function rankOf(label: string, term: string): number {
  if (label.startsWith(term)) return 0;
  return label.includes(term) ? 1 : 2;
}
