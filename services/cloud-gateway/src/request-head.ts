/**
 * Reads what the gateway needs of a request's headers, in one pass over the raw list, and refuses what is ambiguous (cloud.md §6.1, §6.5).
 */
import { FORWARDED_FOR_HEADER } from "@perdure/cloud/forwarding";
import { hostOf } from "./host.js";
import { HEADER_BYTES_MAX, HEADER_LINES_MAX, TARGET_CHARS_MAX } from "./limits.js";
import { type GatewayRefusal, headersTooLarge, malformed, noUpgrades, targetTooLong } from "./refusal.js";

export interface RequestHead {
  readonly method: string;
  /** Path and query, starting with a slash. */
  readonly target: string;
  /** Without the query, not decoded. */
  readonly path: string;
  /** Lower case, without port; undefined when the client named none. */
  readonly host: string | undefined;
  /** As the client sent it, for `x-forwarded-host`. */
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
const DIGITS = /^\d{1,15}$/;
/**
 * Characters that a client library would have encoded; and fragments, which no request target has (RFC 9112 §3.2.1) and which make some
 * parsers in runtimes read `\` as `/`: the path that is checked here must be the path that is used there.
 */
const NOT_IN_TARGETS = /[^\x21-\x7e]|#/;
const ABSOLUTE = /^https?:\/\/([^/?#]*)(\/[^#]*)?$/i;

/** A refusal has a `status`, a head has none. */
export function readHead({ method, target, isHttp2, rawHeaders }: RequestLine): RequestHead | GatewayRefusal {
  let bytes = 0;
  let lines = 0;
  let hosts = 0;
  let host: string | undefined;
  let authority: string | undefined;
  let contentLength: number | undefined;
  let isChunked = false;
  let hasAuthorization = false;
  let origin: string | undefined;
  let requestedMethod: string | undefined;
  let requestedHeaders: string | undefined;
  let forwardedFor: string | undefined;
  let connection: string | undefined;
  let traceparent: string | undefined;
  let isTraceRequested = false;
  let userAgent: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const value = rawHeaders[i + 1] as string;
    bytes += name.length + value.length + 4;
    if (name.charCodeAt(0) === COLON) {
      if (name === ":authority") authority = value;
      continue;
    }
    lines++;
    // Most names differ from all of these in their length, so most need no comparison.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "host") {
          hosts++;
          host = value;
        }
        break;
      case 6:
        if (name.toLowerCase() === "origin") origin ??= value;
        break;
      case 7:
        if (name.toLowerCase() === "upgrade" && /websocket/i.test(value)) return noUpgrades;
        break;
      case 10:
        if (name.toLowerCase() === "connection") connection = connection === undefined ? value : `${connection},${value}`;
        else if (name.toLowerCase() === "user-agent") userAgent ??= value;
        break;
      case 11:
        if (name.toLowerCase() === "traceparent") traceparent ??= value;
        break;
      case 15:
        if (name.toLowerCase() === "x-perdure-trace") isTraceRequested = value === "1";
        break;
      case 13:
        if (name.toLowerCase() === "authorization") hasAuthorization = true;
        break;
      case 14:
        if (name.toLowerCase() === "content-length") {
          if (contentLength !== undefined || !DIGITS.test(value)) return malformed("The header content-length makes no sense");
          contentLength = Number(value);
        }
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") {
          if (value.toLowerCase() !== "chunked") return malformed("The only supported transfer encoding is 'chunked'");
          isChunked = true;
        }
        break;
      case FORWARDED_FOR_LENGTH:
        if (name.toLowerCase() === FORWARDED_FOR_HEADER) forwardedFor = value;
        break;
      case 29:
        if (name.toLowerCase() === "access-control-request-method") requestedMethod ??= value;
        break;
      case 30:
        if (name.toLowerCase() === "access-control-request-headers") requestedHeaders ??= value;
        break;
    }
  }
  if (lines > HEADER_LINES_MAX || bytes > HEADER_BYTES_MAX) return headersTooLarge;
  if (isChunked && contentLength !== undefined) return malformed("A request has one length, not two");
  if (!METHOD.test(method) || method === "CONNECT" || method === "TRACE") return malformed("This method is not taken");
  if (hosts > 1) return malformed("A request names one host");

  const absolute = !isHttp2 && !target.startsWith("/") ? ABSOLUTE.exec(target) : null;
  if (absolute !== null) {
    if (hosts === 1 && !sameAuthority(absolute[1] ?? "", host ?? "")) return malformed("The target and the header host differ");
    authority = absolute[1] ?? "";
    target = absolute[2] ?? "/";
  }
  if (!target.startsWith("/") || NOT_IN_TARGETS.test(target)) return malformed("The path is not one");
  if (target.length > TARGET_CHARS_MAX) return targetTooLong;
  if (authority !== undefined && hosts === 1 && !sameAuthority(authority, host ?? "")) {
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
    contentLength,
    isChunked,
    hasAuthorization,
    origin,
    requestedMethod,
    requestedHeaders,
    forwardedFor,
    connection,
    traceparent,
    isTraceRequested,
    userAgent,
    isHttp2,
  };
}

const FORWARDED_FOR_LENGTH = FORWARDED_FOR_HEADER.length;
const COLON = 58;

function sameAuthority(one: string, other: string): boolean {
  return one === other || one.toLowerCase() === other.toLowerCase();
}
