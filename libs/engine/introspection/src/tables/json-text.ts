/**
 * Encodes entries as JSON with bytes as lists of numbers. A list is four times the size of the bytes as text and more as an array, so the
 * text is made of the bytes directly, and long bytes are truncated.
 */
import { LISTED_BYTES_MAX } from "../limits.js";

/** `JSON.stringify` for plain data with bytes in it; each becomes the list of its first `LISTED_BYTES_MAX` numbers. */
export function jsonText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (value instanceof Uint8Array) return listText(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  const fields: string[] = [];
  for (const [name, field] of Object.entries(value)) {
    if (field !== undefined) fields.push(`${JSON.stringify(name)}:${jsonText(field)}`);
  }
  return `{${fields.join(",")}}`;
}

/** Length of the longest bytes in a value that are not listed completely; undefined when all are. */
export function cutBytesOf(value: unknown): number | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (value instanceof Uint8Array) return value.length > LISTED_BYTES_MAX ? value.length : undefined;
  let longest: number | undefined;
  for (const field of Object.values(value)) {
    const cut = cutBytesOf(field);
    if (cut !== undefined) longest = Math.max(longest ?? 0, cut);
  }
  return longest;
}

const COMMA = 44;
const ZERO = 48;
/** Three digits and a comma. */
const LISTED_CHARS_MAX = 4;

function listText(bytes: Uint8Array): string {
  const count = Math.min(bytes.length, LISTED_BYTES_MAX);
  const chars = Buffer.allocUnsafe(count * LISTED_CHARS_MAX);
  let at = 0;
  for (const byte of bytes.subarray(0, count)) {
    if (at > 0) chars[at++] = COMMA;
    if (byte >= 100) chars[at++] = ZERO + Math.floor(byte / 100);
    if (byte >= 10) chars[at++] = ZERO + (Math.floor(byte / 10) % 10);
    chars[at++] = ZERO + (byte % 10);
  }
  return `[${chars.toString("latin1", 0, at)}]`;
}
