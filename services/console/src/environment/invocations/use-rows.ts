/** The visible rows, read when they appear and again while they are visible. */
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { useEnvironment } from "../environment.js";
import { LIVE_MS } from "../request.js";
import { aheadOf } from "./ahead.js";
import { SCROLL_DEBOUNCE_MS } from "./limits.js";
import { type InvocationListRow, rowOf } from "./row.js";
import { RowLoader } from "./row-loader.js";
import { rowsStatement } from "./statements.js";

export interface VisibleRows {
  /** undefined: not loaded yet; null: deleted. */
  readonly get: (id: string) => InvocationListRow | null | undefined;
  readonly problem: unknown;
  /** The visible rows of the list, first and last, both included. */
  readonly see: (ids: readonly string[], first: number, last: number) => void;
}

export function useRows(isLive: boolean): VisibleRows {
  const { admin } = useEnvironment();
  const store = useMemo(() => {
    const listeners = new Set<() => void>();
    const loader = new RowLoader({
      readRows: async (ids, signal) =>
        (await admin.sql.query(rowsStatement(ids), { signal })).map(rowOf).filter((row) => row !== undefined),
      onChange: () => {
        for (const listener of listeners) listener();
      },
    });
    return {
      loader,
      version: () => loader.version,
      subscribe: (listener: () => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
  }, [admin]);
  useSyncExternalStore(store.subscribe, store.version);
  const { loader } = store;
  useEffect(() => () => loader.close(), [loader]);

  const visibleIds = useRef<readonly string[]>([]);
  const pace = useRef({ lastLoadMs: 0, timer: 0, first: 0 });
  useEffect(() => () => clearTimeout(pace.current.timer), []);
  const see = useMemo(
    () => (ids: readonly string[], first: number, last: number) => {
      visibleIds.current = ids.slice(first, last + 1);
      const loadRows = () => {
        pace.current.lastLoadMs = performance.now();
        const { from, to } = aheadOf(first, last, first - pace.current.first);
        pace.current.first = first;
        loader.load(ids.slice(from, to));
      };
      clearTimeout(pace.current.timer);
      const restMs = pace.current.lastLoadMs + SCROLL_DEBOUNCE_MS - performance.now();
      if (restMs <= 0) loadRows();
      else pace.current.timer = window.setTimeout(loadRows, restMs);
    },
    [loader],
  );
  useEffect(() => {
    if (!isLive) return;
    let isBusy = false;
    const timer = setInterval(async () => {
      if (document.hidden || isBusy || visibleIds.current.length === 0) return;
      isBusy = true;
      await loader.refresh(visibleIds.current);
      isBusy = false;
    }, LIVE_MS);
    return () => clearInterval(timer);
  }, [isLive, loader]);
  return { get: (id) => loader.get(id), problem: loader.problem, see };
}
