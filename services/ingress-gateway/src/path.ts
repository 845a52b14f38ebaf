/** Paths are matched as received, still percent-encoded; only keys and scopes are ever decoded (ingress.md §2). */
import { fromBinaryString, fromUtf8Strict, utf8 } from "@perdure/base";

/** A request target in its parts. */
export interface RequestPath {
  /** Starts with one slash; no trailing slashes. */
  readonly path: string;
  /** Text behind the first `?`; undefined when there is none. */
  readonly query: string | undefined;
  /** Path and query together, as passed to the handler. */
  readonly full: string;
}

/** Parses origin-form and absolute-form targets as Node provides them, a character for each byte; a fragment is dropped. */
export function parseRequestTarget(target: string): RequestPath {
  let text = isAscii(target) ? target : (fromUtf8Strict(fromBinaryString(target)) ?? target);
  if (text.charCodeAt(0) !== SLASH) text = withoutAuthority(text);
  const fragment = text.indexOf("#");
  if (fragment >= 0) text = text.slice(0, fragment);
  const question = text.indexOf("?");
  const rawPath = question < 0 ? text : text.slice(0, question);
  const query = question < 0 ? undefined : text.slice(question + 1);
  const path = trimSlashes(rawPath);
  return { path, query, full: path === rawPath ? text : query === undefined ? path : `${path}?${query}` };
}

const SLASH = 47;
const PERCENT = 37;

function withoutAuthority(target: string): string {
  const scheme = target.indexOf("://");
  if (scheme < 0) return `/${target}`;
  const start = target.indexOf("/", scheme + 3);
  return start < 0 ? "/" : target.slice(start);
}

/** `/x//` is `/x`, and so is `//x`; slashes elsewhere stay. */
function trimSlashes(path: string): string {
  let end = path.length;
  const trailing = end > 1 && path.charCodeAt(end - 1) === SLASH;
  if (!trailing && path.charCodeAt(1) !== SLASH) return path;
  let start = 0;
  while (end > 0 && path.charCodeAt(end - 1) === SLASH) end--;
  while (start < end && path.charCodeAt(start) === SLASH) start++;
  return `/${path.slice(start, end)}`;
}

/** Number of slashes. */
export function slashCount(path: string): number {
  let count = 0;
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) count++;
  return count;
}

/** Percent-decodes UTF-8. A broken escape is kept, `+` too; undefined when the bytes are not UTF-8. */
export function percentDecode(raw: string): string | undefined {
  return raw.includes("%") ? fromUtf8Strict(percentDecodeBytes(raw)) : raw;
}

/** The same, as bytes. */
export function percentDecodeBytes(raw: string): Uint8Array {
  const bytes = utf8(raw);
  let size = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    const high = byte === PERCENT ? hexDigit(bytes[i + 1]) : -1;
    const low = high >= 0 ? hexDigit(bytes[i + 2]) : -1;
    if (low >= 0) {
      bytes[size++] = high * 16 + low;
      i += 2;
    } else bytes[size++] = byte;
  }
  return bytes.subarray(0, size);
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) return false;
  }
  return true;
}

function hexDigit(code: number | undefined): number {
  if (code === undefined) return -1;
  if (code >= 48 && code <= 57) return code - 48;
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
