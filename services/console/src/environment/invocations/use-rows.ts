/** Why: the rows that are seen, read when they are and again while they are. */
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { LIVE_MS } from "../ask.js";
import { useEnvironment } from "../environment.js";
import { aheadOf } from "./ahead.js";
import { SETTLE_MS } from "./limits.js";
import { type InvocationRow, rowOf } from "./row.js";
import { RowLoader } from "./row-loader.js";
import { rowsStatement } from "./statements.js";

export interface Rows {
  /** undefined: not known yet; null: gone. */
  readonly get: (id: string) => InvocationRow | null | undefined;
  readonly problem: unknown;
  /** Which rows of the list are seen now, both included. */
  readonly see: (ids: readonly string[], first: number, last: number) => void;
}

export function useRows(isLive: boolean): Rows {
  const { admin } = useEnvironment();
  const store = useMemo(() => {
    const listeners = new Set<() => void>();
    const loader = new RowLoader({
      ask: async (ids, signal) =>
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

  const seen = useRef<readonly string[]>([]);
  const pace = useRef({ wantedMs: 0, timer: 0, first: 0 });
  useEffect(() => () => clearTimeout(pace.current.timer), []);
  const see = useMemo(
    () => (ids: readonly string[], first: number, last: number) => {
      seen.current = ids.slice(first, last + 1);
      const want = () => {
        pace.current.wantedMs = performance.now();
        const { from, to } = aheadOf(first, last, first - pace.current.first);
        pace.current.first = first;
        loader.want(ids.slice(from, to));
      };
      clearTimeout(pace.current.timer);
      const restMs = pace.current.wantedMs + SETTLE_MS - performance.now();
      if (restMs <= 0) want();
      else pace.current.timer = window.setTimeout(want, restMs);
    },
    [loader],
  );
  useEffect(() => {
    if (!isLive) return;
    let isBusy = false;
    const timer = setInterval(async () => {
      if (document.hidden || isBusy || seen.current.length === 0) return;
      isBusy = true;
      await loader.refresh(seen.current);
      isBusy = false;
    }, LIVE_MS);
    return () => clearInterval(timer);
  }, [isLive, loader]);
  return { get: (id) => loader.get(id), problem: loader.problem, see };
}
