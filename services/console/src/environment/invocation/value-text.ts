/** Payloads are arbitrary bytes; the console shows JSON formatted, text as it is, and anything else as hexadecimal digits. Pure. */
import type { PayloadView } from "@perdure/admin-client";

export interface ValueText {
  readonly kind: "json" | "text" | "hex" | "empty";
  readonly text: string;
  /** The server showed only its beginning. */
  readonly isCut: boolean;
}

/** JSON beyond this is shown as it came: laying it out would make it several times as long. */
const LAID_OUT_CHARS_MAX = 1_000_000;

/** The text of a whole value. */
export function valueOfBytes(bytes: Uint8Array): ValueText {
  if (bytes.length === 0) return { kind: "empty", text: "", isCut: false };
  try {
    return valueOfText(new TextDecoder("utf-8", { fatal: true }).decode(bytes), false);
  } catch {
    // Not UTF-8, so it is not text.
    return { kind: "hex", text: hexOf(bytes), isCut: false };
  }
}

/** The text of the part of a value that a timeline has. */
export function valueOfPayload(payload: PayloadView): ValueText {
  if ("text" in payload && typeof payload.text === "string") return valueOfText(payload.text, payload.cut);
  const base64 = "base64" in payload && typeof payload.base64 === "string" ? payload.base64 : "";
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return { kind: "hex", text: hexOf(bytes), isCut: payload.cut };
}

function valueOfText(text: string, isCut: boolean): ValueText {
  if (text === "") return { kind: "empty", text, isCut };
  // NUL and other control characters are not text either, but JSON may have them in escapes.
  if (/[\u0000-\u0008\u000e-\u001f]/.test(text)) return { kind: "hex", text: hexOf(new TextEncoder().encode(text)), isCut };
  const laidOut = isCut || text.length > LAID_OUT_CHARS_MAX ? undefined : layOut(text);
  return laidOut === undefined ? { kind: "text", text, isCut } : { kind: "json", text: laidOut, isCut };
}

function layOut(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Numbers beyond a double's precision would come out changed: then as it came.
    return /\d{16}/.test(text) ? text.trim() : JSON.stringify(value, undefined, 2);
  } catch {
    return undefined;
  }
}

const BYTES_PER_LINE = 16;

/** Sixteen bytes a line, in pairs of digits. */
function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += BYTES_PER_LINE) {
    lines.push(Array.from(bytes.subarray(at, at + BYTES_PER_LINE), (byte) => byte.toString(16).padStart(2, "0")).join(" "));
  }
  return lines.join("\n");
}

/** `840 B`, `1.2 KiB`, `3.4 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const [unit, name] = bytes < 1_048_576 ? [1_024, "KiB"] : [1_048_576, "MiB"];
  return `${(bytes / unit).toFixed(1)} ${name}`;
}

/** The beginning of a long text, up to the end of a line where there is one. */
export function beginning(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const cut = text.slice(0, charsMax);
  const line = cut.lastIndexOf("\n");
  return line > charsMax / 2 ? cut.slice(0, line) : cut;
}

/** One line for lists. */
export function inOneLine(value: ValueText, charsMax: number): string {
  if (value.kind === "empty") return "";
  const text = value.text.replace(/\s+/g, " ");
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
}
