/**
 * A deployment's address, parsed once: where to connect, and the text around a path (service-protocol §1.1: the base path is kept, its
 * trailing slash dropped, its query preserved).
 */
import { BoundedCache } from "@perdure/base";
import { ENDPOINT_CACHE_MAX } from "./limits.js";

export interface EndpointBase {
  /** `scheme://host:port`, the key of the connection pools. */
  readonly origin: string;
  readonly secure: boolean;
  /** Host name; an IPv6 address has no brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Host, and port where it is not the scheme's own. */
  readonly authority: string;
  /** Empty, or starting with a slash and not ending in one. */
  readonly basePath: string;
  /** Empty, or starting with a question mark. */
  readonly query: string;
}

const cache = new BoundedCache<string, EndpointBase>({ entriesMax: ENDPOINT_CACHE_MAX });

/** Undefined when `uri` is not an absolute http or https address. */
export function endpointBase(uri: string): EndpointBase | undefined {
  const cached = cache.peek(uri);
  if (cached !== undefined) return cached;
  const parsed = parseEndpointBase(uri);
  if (parsed === undefined) return undefined;
  cache.set(uri, parsed);
  return parsed;
}

function parseEndpointBase(uri: string): EndpointBase | undefined {
  if (!URL.canParse(uri)) return undefined;
  const url = new URL(uri);
  const secure = url.protocol === "https:";
  if (!secure && url.protocol !== "http:") return undefined;
  return {
    origin: url.origin,
    secure,
    hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    authority: url.host,
    basePath: url.pathname.replace(/\/+$/, ""),
    query: url.search,
  };
}

/** Path and query of the request. */
export function requestTarget(base: EndpointBase, path: string): string {
  return base.basePath + path + base.query;
}
