/** A value is bytes; users read and write it as JSON, as text, or as hexadecimal digits. Pure. */
import { isJson, narrowJson, wideJson } from "./json-text.js";

const FORMS = ["json", "text", "hex"] as const;
export type ValueForm = (typeof FORMS)[number];

export interface ShownValue {
  readonly form: ValueForm;
  readonly text: string;
}

/** Returns the value in the format that suits it best. */
export function shownValue(bytes: Uint8Array): ShownValue {
  const text = utf8Of(bytes);
  if (text === undefined) return { form: "hex", text: hexOf(bytes) };
  return isJson(text) ? { form: "json", text: wideJson(text) } : { form: "text", text };
}

/** Returns the value in the chosen format; undefined when it cannot be shown so. */
export function valueAs(bytes: Uint8Array, form: ValueForm): string | undefined {
  if (form === "hex") return hexOf(bytes);
  const text = utf8Of(bytes);
  if (text === undefined) return undefined;
  if (form === "text") return text;
  return isJson(text) ? wideJson(text) : undefined;
}

type ReadValue = { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly problem: string };

/** The text of the editor, as bytes; JSON without formatting. */
export function bytesOf(text: string, form: ValueForm): ReadValue {
  switch (form) {
    case "json":
      if (!isJson(text)) return { ok: false, problem: 'Not valid JSON. Strings need quotes: "…"' };
      return { ok: true, bytes: new TextEncoder().encode(narrowJson(text)) };
    case "text":
      return { ok: true, bytes: new TextEncoder().encode(text) };
    default: {
      const digits = text.replace(/\s+/g, "");
      if (digits.length % 2 !== 0 || /[^0-9a-f]/i.test(digits)) {
        return { ok: false, problem: "Two hexadecimal digits for each byte: 7b 22 61" };
      }
      return { ok: true, bytes: Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)) };
    }
  }
}

export function sameBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** `24 B`, `1.5 KiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB"];
  let size = bytes / 1024;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`;
}

/** Bytes that are readable as a text; undefined for others. */
function utf8Of(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  // Invalid UTF-8 was replaced, so the bytes would differ when they are written again.
  if (text.includes("\uFFFD") && !sameBytes(new TextEncoder().encode(text), bytes)) return undefined;
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.test(text) ? undefined : text;
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}
