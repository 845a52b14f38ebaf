/**
 * Filters headers of proxied requests. Headers that browsers add are for the console only, and the answer of a service is untrusted
 * content at the console's origin. The page may send what callers may send; of answers it gets the headers that it shows, in a form that a
 * browser never renders as a page of the console.
 */
import { present } from "@perdure/base";
import { connectionOf, HOP_BY_HOP_HEADERS, namedByConnection } from "@perdure/http-server";

/** Lower case. Headers of one connection, credentials, or headers for the console alone. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  ...["expect", "host", "content-length", "cookie", "authorization", "proxy-authorization", "origin", "referer"],
  ...["forwarded", "via", "x-real-ip", "x-perdure-csrf", "dnt", "priority", "upgrade-insecure-requests"],
]);
const NOT_PASSED_ON_PREFIXES = ["sec-", "proxy-", "x-forwarded-", "x-perdure-forwarded-", "access-control-"];

/**
 * Headers of an answer that the page may read. All others could change the browser's state for the console's origin: cookies, policies,
 * reports, redirections.
 */
const PASSED_BACK: ReadonlySet<string> = new Set([
  ...["content-type", "content-encoding", "content-length", "content-language", "content-range", "accept-ranges"],
  ...["etag", "last-modified", "date", "age", "retry-after", "x-request-id", "server-timing"],
  ...["idempotency-expires", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
]);
const PASSED_BACK_PREFIXES = ["x-restate-", "x-perdure-"];

/** Names and values in turn for the gateway. `length`: as declared; undefined for a body without one. */
export function headersForGateway(rawHeaders: readonly string[], token: string, body: RequestBody): string[] {
  const named = namedByConnection(connectionOf(rawHeaders));
  const headers: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [present(rawHeaders[at]), present(rawHeaders[at + 1])];
    const lower = name.toLowerCase();
    if (NOT_PASSED_ON.has(lower) || named.has(lower) || beginsWith(lower, NOT_PASSED_ON_PREFIXES)) continue;
    headers.push(name, value);
  }
  headers.push("authorization", `Bearer ${token}`);
  if (body.kind === "measured") headers.push("content-length", String(body.bytes));
  if (body.kind === "open") headers.push("transfer-encoding", "chunked");
  return headers;
}

export type RequestBody =
  | { readonly kind: "none" }
  | { readonly kind: "measured"; readonly bytes: number }
  | { readonly kind: "open" };

/** Names and values in turn for the page. `prefix`: of the endpoint at the console's origin, without a slash at its end. */
export function headersForPage(rawHeaders: readonly string[], prefix: string): string[] {
  const headers: string[] = [];
  let isJson = false;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [present(rawHeaders[at]).toLowerCase(), present(rawHeaders[at + 1])];
    if (name === "content-type") isJson = JSON_TYPE.test(value);
    if (name === "location") {
      const location = locationForPage(value, prefix);
      if (location !== undefined) headers.push("location", location);
    } else if (PASSED_BACK.has(name) || beginsWith(name, PASSED_BACK_PREFIXES)) headers.push(name, value);
  }
  if (!isJson) headers.push("content-disposition", "attachment");
  return headers;
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/**
 * Only for locations in the same environment, rewritten for the page; undefined for all others: a page that follows sends its proof along.
 */
function locationForPage(location: string, prefix: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(location) || location.includes("\\") || !URL.canParse(location, HERE)) return undefined;
  if (/^[a-z][a-z0-9+.-]*:/i.test(location) || location.startsWith("//")) return undefined;
  const { origin, pathname, search } = new URL(location, HERE);
  if (origin !== HERE || !location.startsWith("/") || pathname.startsWith("//")) return undefined;
  return `${prefix}${pathname}${search}`;
}

/** A host name that cannot exist. */
const HERE = "https://environment.invalid";

function beginsWith(name: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix));
}
