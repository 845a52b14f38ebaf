/**
 * The palette belongs to the whole console, and its entries to pages: services of the current environment, actions on the open invocation.
 * Pages register their sources while they are shown; the palette reads them when it opens.
 */
import { useEffect, useRef } from "react";

export interface PaletteEntry {
  readonly label: string;
  /** Kind of the entry: `Service`, `Action`. */
  readonly kind: string;
  /** Further texts that find the entry. */
  readonly keywords?: string;
  readonly href?: string;
  /** Instead of going somewhere. */
  readonly run?: () => void;
}

type PaletteSource = () => readonly PaletteEntry[] | Promise<readonly PaletteEntry[]>;

const sources = new Set<PaletteSource>();

/** Registers a source of the palette while the component is shown. */
export function usePaletteSource(source: PaletteSource): void {
  const latest = useRef(source);
  latest.current = source;
  useEffect(() => {
    const own: PaletteSource = () => latest.current();
    sources.add(own);
    return () => void sources.delete(own);
  }, []);
}

/** The entries of all sources; those that fail have none. `onMore` is called each time that more are loaded. */
export function readSources(onMore: (entries: readonly PaletteEntry[]) => void): void {
  const results: (readonly PaletteEntry[])[] = [...sources].map(() => []);
  for (const [index, source] of [...sources].entries()) {
    void Promise.resolve()
      .then(source)
      .then(
        (entries) => {
          results[index] = entries;
          onMore(results.flat());
        },
        () => undefined,
      );
  }
}
