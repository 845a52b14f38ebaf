/** Lists the headers that belong to one connection, which a program that forwards a message must not forward (RFC 9110 §7.6.1). */
import { present } from "@perdure/base";

/** Lower case. Beside the names of the RFC those of older clients, and of the upgrade from HTTP/1.1 to HTTP/2. */
export const HOP_BY_HOP_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

const NONE: ReadonlySet<string> = new Set();

/** The names that a `connection` header lists, in lower case: they belong to the connection too. */
export function namedByConnection(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined) return NONE;
  const trimmed = connection.trim().toLowerCase();
  if (trimmed === "keep-alive" || trimmed === "close") return NONE;
  return new Set(trimmed.split(",").map((name) => name.trim()));
}

/** All values of `connection`, as one; undefined without one. `rawHeaders`: names and values in turn. */
export function connectionOf(rawHeaders: readonly string[]): string | undefined {
  let connection: string | undefined;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (present(rawHeaders[i]).toLowerCase() !== "connection") continue;
    connection = connection === undefined ? rawHeaders[i + 1] : `${connection},${rawHeaders[i + 1]}`;
  }
  return connection;
}

/** Names in lower case and values in turn, without pseudo-headers, headers of the connection and those in `dropped`. */
export function endToEndHeaders(rawHeaders: readonly string[], dropped: ReadonlySet<string> = NONE): string[] {
  const named = namedByConnection(connectionOf(rawHeaders));
  const headers: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = present(rawHeaders[i]).toLowerCase();
    if (name.startsWith(":") || HOP_BY_HOP_HEADERS.has(name) || named.has(name) || dropped.has(name)) continue;
    headers.push(name, present(rawHeaders[i + 1]));
  }
  return headers;
}
