/**
 * The state of a page is in its address. It is parsed here from the raw text: the router decodes addresses once more than they were
 * encoded, so `LIKE '%ab%'` or a key with `%2F` in it would change.
 */
import { useCallback, useMemo } from "react";
import { useLocation } from "wouter";
import { usePathname, useSearch } from "wouter/use-browser-location";
import { changedSearch, lastSegments } from "./address-text.js";

/** Undefined or empty takes a parameter away. */
type AddressChange = Readonly<Record<string, string | undefined>>;

/** Parameters of the address, and how to change some of them; `isStep`: Back returns to the earlier values. */
export function useAddress(): readonly [URLSearchParams, (change: AddressChange, isStep?: boolean) => void] {
  const search = useSearch();
  const [, go] = useLocation();
  const parameters = useMemo(() => new URLSearchParams(search), [search]);
  const change = useCallback(
    (changes: AddressChange, isStep = true) =>
      go(`~${location.pathname}${changedSearch(location.search, changes)}`, { replace: !isStep }),
    [go],
  );
  return [parameters, change];
}

/** The last parts of the path, decoded. */
export function useSegments(count: number): readonly string[] {
  return lastSegments(usePathname(), count);
}
