/** Which header fields HTTP/2 allows (RFC 9113 §8.2). */
import type { HeaderField } from "./hpack-tables.js";

/** Fields about one connection, which HTTP/2 does not have. */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Visible characters, spaces and tabs, one byte each. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Says why a field of a request may not be sent; undefined when it may. `:`-fields are of the caller's own making. */
export function fieldProblem(name: string, value: string): string | undefined {
  if (name.startsWith(":")) return VALUE.test(value) ? undefined : `the value of "${name}" has characters that HTTP/2 forbids`;
  if (CONNECTION_FIELDS.has(name) || (name === "te" && value !== "trailers")) return `HTTP/2 forbids the header "${name}"`;
  if (!NAME.test(name)) return `${JSON.stringify(name)} is not the name of a header in HTTP/2`;
  return VALUE.test(value) ? undefined : `the value of the header "${name}" has characters that HTTP/2 forbids`;
}

export interface ResponseHead {
  readonly status: number;
  /** `:status` included. Values of a repeated name are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the head of a response; undefined when it breaks the rules (RFC 9113 §8.1.1: malformed). */
export function responseHead(fields: readonly HeaderField[]): ResponseHead | undefined {
  const [first] = fields;
  if (first?.name !== ":status" || !/^[1-9][0-9]{2}$/.test(first.value)) return undefined;
  const headers: Record<string, string> = Object.create(null);
  for (const [at, { name, value }] of fields.entries()) {
    if (at > 0 && (CONNECTION_FIELDS.has(name) || !NAME.test(name))) return undefined;
    if (!VALUE.test(value)) return undefined;
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return { status: Number(first.value), headers };
}

/** Whether the fields may follow a body. */
export function areTrailers(fields: readonly HeaderField[]): boolean {
  return fields.every(({ name }) => NAME.test(name) && !CONNECTION_FIELDS.has(name));
}
