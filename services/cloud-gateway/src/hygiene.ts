/**
 * Why: a runtime journals every header it gets and shows it to handlers, so what is a secret, a lie or about the connection must
 * not reach it (cloud.md §6.4); and its answers must not tell tenants how things are named inside.
 */
import { foreignCookies } from "@perdure/cloud";
import type { GatewayEndpoint } from "./environments.js";
import type { RequestHead } from "./request-head.js";

/** Lower case. About one connection (RFC 9110 §7.6.1), ours to say, or credentials. */
const NOT_TO_RUNTIMES: ReadonlySet<string> = new Set([
  ...[
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "proxy-connection",
    "http2-settings",
    "expect",
  ],
  ...["host", "content-length", "forwarded", "x-real-ip", "x-request-id"],
  ...["authorization", "proxy-authorization"],
  "baggage",
  ...["x-restate-cluster-name", "x-restate-signature-scheme", "x-restate-jwt-v1", "x-restate-ingress-path"],
]);

/** Of ours that callers, who are known here, may send: how urgent a call is, that they want its trace, that discovery is only a check. */
const PUBLIC_OURS: ReadonlySet<string> = new Set(["x-perdure-priority", "x-perdure-check", "x-perdure-trace"]);

/**
 * What browsers say of themselves and of the page that asks. At the door for management it has been judged here, where the host that the
 * caller named is known; a runtime is called by another, and would take the console for a stranger's page. Handlers behind the other
 * door may want it.
 */
function isOfBrowsers(name: string): boolean {
  return OF_BROWSERS.has(name) || name.startsWith("sec-");
}

const OF_BROWSERS: ReadonlySet<string> = new Set(["origin", "referer", "cookie", "accept-language"]);

/** What the gateway adds. */
export interface Provenance {
  readonly endpoint: GatewayEndpoint;
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  readonly requestId: string;
  /** An `Authorization` of the caller that is meant for the handler. */
  readonly foreignAuthorization: string | undefined;
  /** Of the span of this request here; undefined: the caller's passes, if it has one. */
  readonly traceparent: string | undefined;
  /** The answer will be read and written anew on its way back: nothing of it may be compressed. */
  readonly isRewritten: boolean;
}

/** Names and values in turn, without a length: whoever sends the body knows it. */
export function headersForRuntime(
  head: RequestHead,
  { endpoint, remoteAddress, isSecure, requestId, ...rest }: Provenance,
): string[] {
  const raw = head.rawHeaders;
  const listed = head.connection === undefined ? undefined : listedIn(head.connection);
  const headers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    if (!mayPass(name) || listed?.has(name) === true || (endpoint === "admin" && isOfBrowsers(name))) continue;
    if (rest.isRewritten && name === "accept-encoding") continue;
    if (rest.traceparent !== undefined && name === "traceparent") continue;
    const passed = name === "cookie" ? foreignCookies(raw[i + 1] as string) : raw[i + 1];
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

/** The names in a `connection` header; what callers may always say cannot be taken away by naming it there. */
function listedIn(connection: string): ReadonlySet<string> | undefined {
  const trimmed = connection.trim().toLowerCase();
  if (trimmed === "keep-alive" || trimmed === "close") return undefined;
  return new Set(trimmed.split(",").map((name) => name.trim()));
}

const NOT_TO_CALLERS: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-connection", "http2-settings"],
  ...["server", "date", "x-powered-by", "alt-svc", "strict-transport-security", "x-request-id"],
]);

export interface AnswerContext {
  readonly requestId: string;
  readonly isSecure: boolean;
  /** Headers of ours about other origins, which replace all of the runtime's; undefined: the runtime's pass. */
  readonly cors: readonly string[] | undefined;
  /** Origins of the runtime, and what tenants call instead. */
  readonly inside: readonly string[];
  readonly outside: string;
  /** Whether the body will be another than the runtime's. */
  readonly isRewritten: boolean;
}

/** Names and values in turn. `headers` as the HTTP client has them, names in lower case. */
export function headersForCaller(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  context: AnswerContext,
): string[] {
  const list: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || NOT_TO_CALLERS.has(name) || name.startsWith("x-perdure-")) continue;
    if (context.cors !== undefined && (name.startsWith("access-control-") || name === "vary")) continue;
    if (context.isRewritten && (name === "content-length" || name === "etag" || name === "content-encoding")) continue;
    if (typeof value !== "string") for (const each of value) list.push(name, each);
    else list.push(name, name === "location" ? outsideOf(value, context) : value);
  }
  pushOurs(list, context);
  return list;
}

/** What every answer of the gateway has. */
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
