/** Reads what the gateway needs of a request's line and headers, and refuses what is ambiguous (cloud.md §6.1, §6.5). */
import { HeaderFields } from "./header-fields.js";
import { hostOf } from "./host.js";
import { TARGET_CHARS_MAX } from "./limits.js";
import { type GatewayRefusal, malformed, targetTooLong } from "./refusal.js";

export interface RequestHead {
  readonly method: string;
  /** Path and query, starting with a slash. */
  readonly target: string;
  /** Path without the query, not decoded. */
  readonly path: string;
  /** Lower case, without port; undefined when the client named none. */
  readonly host: string | undefined;
  /** Authority in the text that the client sent, for `x-forwarded-host`. */
  readonly authority: string | undefined;
  /** Names and values in turn; for HTTP/2 with pseudo-headers. */
  readonly rawHeaders: readonly string[];
  readonly contentLength: number | undefined;
  /** A body of unknown length follows. */
  readonly isChunked: boolean;
  readonly hasAuthorization: boolean;
  readonly origin: string | undefined;
  readonly requestedMethod: string | undefined;
  readonly requestedHeaders: string | undefined;
  /** Client address as signed by tenancy; not verified yet. */
  readonly forwardedFor: string | undefined;
  readonly traceparent: string | undefined;
  /** Whether the client requests a trace. */
  readonly isTraceRequested: boolean;
  readonly userAgent: string | undefined;
  readonly isHttp2: boolean;
  /** Values of `connection`: names of headers that are not forwarded. */
  readonly connection: string | undefined;
}

export interface RequestLine {
  readonly method: string;
  /** Request target of HTTP/1.1, `:path` of HTTP/2. */
  readonly target: string;
  readonly isHttp2: boolean;
  readonly rawHeaders: readonly string[];
}

const METHOD = /^[A-Z][A-Z-]{0,23}$/;
/**
 * Characters that a client library would have encoded; and fragments, which no request target has (RFC 9112 §3.2.1) and which make some
 * parsers in runtimes read `\` as `/`: the path that is checked here must be the path that is used there.
 */
const NOT_IN_TARGETS = /[^\x21-\x7e]|#/;
const ABSOLUTE = /^https?:\/\/([^/?#]*)(\/[^#]*)?$/i;

/** A refusal has a `status`, a head has none. */
export function readHead({ method, target, isHttp2, rawHeaders }: RequestLine): RequestHead | GatewayRefusal {
  const fields = new HeaderFields();
  const refused = fields.read(rawHeaders);
  if (refused !== undefined) return refused;
  const { host, hostCount } = fields;
  let { authority } = fields;
  if (!METHOD.test(method) || method === "CONNECT" || method === "TRACE") return malformed("This method is not taken");
  if (hostCount > 1) return malformed("A request names one host");

  const absolute = !isHttp2 && !target.startsWith("/") ? ABSOLUTE.exec(target) : null;
  if (absolute !== null) {
    if (hostCount === 1 && !sameAuthority(absolute[1] ?? "", host ?? ""))
      return malformed("The target and the header host differ");
    authority = absolute[1] ?? "";
    target = absolute[2] ?? "/";
  }
  if (!target.startsWith("/") || NOT_IN_TARGETS.test(target)) return malformed("The path is not one");
  if (target.length > TARGET_CHARS_MAX) return targetTooLong;
  if (authority !== undefined && hostCount === 1 && !sameAuthority(authority, host ?? "")) {
    return malformed("The headers :authority and host differ");
  }
  const named = authority ?? host;
  const question = target.indexOf("?");
  return {
    method,
    target,
    path: question < 0 ? target : target.slice(0, question),
    host: named === undefined ? undefined : hostOf(named),
    authority: named,
    rawHeaders,
    contentLength: fields.contentLength,
    isChunked: fields.isChunked,
    hasAuthorization: fields.hasAuthorization,
    origin: fields.origin,
    requestedMethod: fields.requestedMethod,
    requestedHeaders: fields.requestedHeaders,
    forwardedFor: fields.forwardedFor,
    connection: fields.connection,
    traceparent: fields.traceparent,
    isTraceRequested: fields.isTraceRequested,
    userAgent: fields.userAgent,
    isHttp2,
  };
}

function sameAuthority(one: string, other: string): boolean {
  return one === other || one.toLowerCase() === other.toLowerCase();
}
