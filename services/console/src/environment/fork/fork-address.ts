/** The dialog of a fork is in the address of the page, as its number of the last kept entry. */
import { useCallback } from "react";
import { useSearchParams } from "wouter";

export interface ForkPlace {
  /** Undefined: the dialog is closed. */
  readonly at: number | undefined;
  readonly open: (at: number) => void;
  readonly close: () => void;
}

export function useForkPlace(): ForkPlace {
  const [search, setSearch] = useSearchParams();
  const text = search.get("fork");
  const change = useCallback(
    (at: string | undefined) =>
      setSearch((now) => {
        const next = new URLSearchParams(now);
        if (at === undefined) next.delete("fork");
        else next.set("fork", at);
        return next;
      }),
    [setSearch],
  );
  return {
    at: text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined,
    open: (at) => change(String(at)),
    close: () => change(undefined),
  };
}
