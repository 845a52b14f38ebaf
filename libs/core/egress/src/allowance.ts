/**
 * Exceptions of the operator from the rules: the environment's own tunnel relay, for example, or a gateway inside a private network. Each
 * entry allows exactly the destinations that it describes.
 */
import { type AddressRange, parseRange } from "./address.js";
import { hostProblem } from "./host.js";

export type Allowance =
  /** Addresses that are allowed although their range is refused; rules for names, ports and schemes still apply. */
  | { readonly kind: "range"; readonly range: AddressRange }
  /** A host with any address, or with `*.` all names below it; rules for ports and schemes still apply. */
  | { readonly kind: "host"; readonly host: string; readonly below: boolean }
  /** One origin below a path, with any scheme, port and address; other paths of the origin are refused. */
  | { readonly kind: "place"; readonly origin: string; readonly path: string };

/** `10.1.0.0/16`, `fd00::1`, `sdk.internal`, `*.corp.example` or `http://relay.internal:9080/abc/`; undefined for anything else. */
export function parseAllowance(text: string): Allowance | undefined {
  const range = parseRange(text);
  if (range !== undefined) return { kind: "range", range };
  if (text.includes("://")) return parsePlace(text);
  const below = text.startsWith("*.");
  const host = (below ? text.slice(2) : text).toLowerCase();
  return hostProblem(host) === undefined ? { kind: "host", host, below } : undefined;
}

function parsePlace(text: string): Allowance | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, origin, pathname, search, hash, username, password } = new URL(text);
  if (protocol !== "http:" && protocol !== "https:") return undefined;
  if (search + hash + username + password !== "") return undefined;
  return { kind: "place", origin, path: pathname };
}

/** Compares whole segments: `/abc` allows `/abc` and `/abc/d`, not `/abcd`. */
export function isBelow(path: string, parent: string): boolean {
  const prefix = parent.endsWith("/") ? parent : `${parent}/`;
  return path === parent || path.startsWith(prefix);
}
