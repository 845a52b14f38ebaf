/**
 * Parses the destination in the path of a request inside a tunnel: `/<scheme>/<host>/<port>/<rest>`. Forwarding must never produce a
 * control request (`/_/…`), so nothing is decoded, and a path that is not plainly of this form is refused (cloud.md §2.5, §2.6).
 */
import { HOST_CHARS_MAX } from "./limits.js";

export interface Destination {
  readonly scheme: "http" | "https";
  /** Host in the text of the URL; an IPv6 address has brackets. */
  readonly host: string;
  /** 1–65535 */
  readonly port: number;
  /** Path and query for the service behind the tunnel, at least `/`. */
  readonly target: string;
}

/** Names, addresses, IPv6 addresses in brackets; no characters that decoding would change. */
const FORM = /^\/(https?)\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])\/([0-9]{1,5})(\/[^?]*)?(\?.*)?$/;
const DOTS = /^\.{1,2}$/;
/** `.` and `..`, encoded or not: a service that resolves them would see another path than the one checked here. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:\/|$)/i;
/** Characters that URLs of our clients never contain and that programs interpret differently. */
const UNSAFE = /[\\#\u0000-\u0020\u007f]/;

/** Undefined when the path must not be forwarded. */
export function parseDestination(path: string): Destination | undefined {
  const match = FORM.exec(path);
  if (match === null || UNSAFE.test(path)) return undefined;
  const [, scheme, host = "", digits, rest = "", query = ""] = match;
  const port = Number(digits);
  if (port < 1 || port > 65_535 || host.length > HOST_CHARS_MAX || DOTS.test(host) || DOT_SEGMENT.test(rest)) return undefined;
  return { scheme: scheme === "https" ? "https" : "http", host, port, target: `${rest === "" ? "/" : rest}${query}` };
}

/** `http://host:port`, for messages and for lists of what is allowed. */
export function originOf({ scheme, host, port }: Pick<Destination, "scheme" | "host" | "port">): string {
  return `${scheme}://${host}:${port}`;
}

/** The path without its query. */
export function withoutQuery(path: string): string {
  const end = path.indexOf("?");
  return end < 0 ? path : path.slice(0, end);
}
