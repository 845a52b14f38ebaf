/**
 * Filters headers in both directions. A runtime journals every header it receives and shows it to handlers, so secrets, forged headers
 * and headers of the connection must not reach it (cloud.md §6.4); and its answers must not reveal internal names to tenants.
 */
import { present } from "@perdure/base";
import { foreignCookies } from "@perdure/cloud";
import { HOP_BY_HOP_HEADERS, namedByConnection } from "@perdure/http-server";
import type { GatewayEndpoint } from "./environments.js";
import type { RequestHead } from "./request-head.js";

/** Lower case. Headers of one connection, headers that only the gateway sets, and credentials. */
const NOT_TO_RUNTIMES: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  ...["expect", "host", "content-length", "forwarded", "x-real-ip", "x-request-id"],
  ...["authorization", "proxy-authorization"],
  "baggage",
  ...["x-restate-cluster-name", "x-restate-signature-scheme", "x-restate-jwt-v1", "x-restate-ingress-path"],
]);

/** Headers of the platform that authenticated callers may send: priority of a call, a request for its trace, a dry run of discovery. */
const PUBLIC_OURS: ReadonlySet<string> = new Set(["x-perdure-priority", "x-perdure-check", "x-perdure-trace"]);

/**
 * Headers that browsers add about themselves and the calling page. The gateway has checked them for management, where it knows the host
 * that the caller used; the runtime has another host and would take the console for a foreign page. Handlers behind the ingress may use
 * them.
 */
function isOfBrowsers(name: string): boolean {
  return OF_BROWSERS.has(name) || name.startsWith("sec-");
}

const OF_BROWSERS: ReadonlySet<string> = new Set(["origin", "referer", "cookie", "accept-language"]);

/** Headers that the gateway adds. */
interface Provenance {
  readonly endpoint: GatewayEndpoint;
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  readonly requestId: string;
  /** An `Authorization` of the caller that is meant for the handler. */
  readonly foreignAuthorization: string | undefined;
  /** Trace context of the gateway's span; undefined: the caller's `traceparent` is forwarded, if it has one. */
  readonly traceparent: string | undefined;
  /** The gateway will read and rewrite the answer, so the runtime must not compress it. */
  readonly isRewritten: boolean;
}

/** Names and values in turn, without a length: the sender of the body sets it. */
export function headersForRuntime(
  head: RequestHead,
  { endpoint, remoteAddress, isSecure, requestId, ...rest }: Provenance,
): string[] {
  const raw = head.rawHeaders;
  const named = namedByConnection(head.connection);
  const headers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = present(raw[i]).toLowerCase();
    if (!mayPass(name) || named.has(name) || (endpoint === "admin" && isOfBrowsers(name))) continue;
    if (rest.isRewritten && name === "accept-encoding") continue;
    if (rest.traceparent !== undefined && name === "traceparent") continue;
    const passed = name === "cookie" ? foreignCookies(present(raw[i + 1])) : raw[i + 1];
    if (passed !== undefined) headers.push(name, passed);
  }
  if (rest.traceparent !== undefined) headers.push("traceparent", rest.traceparent);
  if (rest.foreignAuthorization !== undefined) headers.push("authorization", rest.foreignAuthorization);
  headers.push("x-forwarded-for", remoteAddress, "x-forwarded-proto", isSecure ? "https" : "http");
  if (head.authority !== undefined) headers.push("x-forwarded-host", head.authority);
  headers.push("x-request-id", requestId);
  return headers;
}

function mayPass(name: string): boolean {
  if (NOT_TO_RUNTIMES.has(name)) return false;
  const first = name.charCodeAt(0);
  if (first === COLON) return false;
  if (first !== LETTER_X) return true;
  return !name.startsWith("x-forwarded-") && (!name.startsWith("x-perdure-") || PUBLIC_OURS.has(name));
}

const NOT_TO_CALLERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  ...["server", "date", "x-powered-by", "alt-svc", "strict-transport-security", "x-request-id"],
]);

/** Headers of the platform that callers may read: the operation with which a change can be undone. */
const OURS_TO_CALLERS: ReadonlySet<string> = new Set(["x-perdure-operation"]);

interface AnswerContext {
  readonly requestId: string;
  readonly isSecure: boolean;
  /** The gateway's CORS headers, which replace all of the runtime's; undefined: the runtime's are forwarded. */
  readonly cors: readonly string[] | undefined;
  /** Origins of the runtime, and the public one that replaces them. */
  readonly inside: readonly string[];
  readonly outside: string;
  /** Whether the body is rewritten. */
  readonly isRewritten: boolean;
}

/** Names and values in turn. `headers` as the HTTP client returns them, names in lower case. */
export function headersForCaller(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  context: AnswerContext,
): string[] {
  const list: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || NOT_TO_CALLERS.has(name)) continue;
    if (name.startsWith("x-perdure-") && !OURS_TO_CALLERS.has(name)) continue;
    if (context.cors !== undefined && (name.startsWith("access-control-") || name === "vary")) continue;
    if (context.isRewritten && (name === "content-length" || name === "etag" || name === "content-encoding")) continue;
    if (typeof value !== "string") for (const each of value) list.push(name, each);
    else list.push(name, name === "location" ? outsideOf(value, context) : value);
  }
  pushOurs(list, context);
  return list;
}

/** Adds the headers of every answer of the gateway. */
export function pushOurs(list: string[], context: Pick<AnswerContext, "requestId" | "isSecure" | "cors">): void {
  if (context.cors !== undefined) for (const each of context.cors) list.push(each);
  list.push("x-request-id", context.requestId);
  if (context.isSecure) list.push("strict-transport-security", "max-age=31536000; includeSubDomains");
}

function outsideOf(location: string, { inside, outside }: AnswerContext): string {
  for (const origin of inside) {
    if (location === origin || location.startsWith(`${origin}/`)) return outside + location.slice(origin.length);
  }
  return location;
}

const COLON = 58;
const LETTER_X = 120;
