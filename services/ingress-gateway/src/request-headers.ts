/** Handlers receive the caller's headers, except those that concern only the connection to the ingress (ingress.md §3.1). */
import type { Header } from "@perdure/service-protocol";
import { badHeader, type IngressRefusal } from "./refusal.js";

/** Headers that the ingress adds for the handler; a caller cannot set them. */
const PATH_HEADER = "x-restate-ingress-path";
const KEPT_BACK: ReadonlySet<string> = new Set([
  "connection",
  "host",
  "idempotency-key",
  "idempotency-expires",
  "x-perdure-debounce",
  "x-perdure-priority",
  "x-perdure-throttle",
  "x-perdure-trace",
  "x-restate-debounce",
  "x-restate-throttle",
  // Baggage of tracers is written by callers, and would be passed to everything that handlers call.
  "baggage",
  PATH_HEADER,
]);

/** Headers of the Input entry: the path first, then the request's in lower case, of repeated ones the first. */
export function passedHeaders(raw: readonly string[], path: string): Header[] | IngressRefusal {
  const headers: Header[] = [{ key: PATH_HEADER, value: path }];
  for (let i = 0; i < raw.length; i += 2) {
    const key = raw[i]!.toLowerCase();
    if (key.charCodeAt(0) === COLON || KEPT_BACK.has(key)) continue;
    const value = raw[i + 1]!;
    if (!isVisibleAscii(value)) return badHeader(key);
    const earlier = find(headers, key);
    if (earlier < 0) headers.push({ key, value });
    // HTTP/2 clients may cut a cookie into pieces; together they are one header (RFC 9113 §8.2.3).
    else if (key === "cookie") headers[earlier] = { key, value: `${headers[earlier]!.value}; ${value}` };
  }
  return headers;
}

const COLON = 58;

function find(headers: readonly Header[], key: string): number {
  for (let i = 0; i < headers.length; i++) {
    if (headers[i]!.key === key) return i;
  }
  return -1;
}

/** Characters that the reference accepts as text: tab and the printable ASCII characters. */
export function isVisibleAscii(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if ((code < 32 && code !== 9) || code > 126) return false;
  }
  return true;
}
