/** Reads and formats sizes with units, as settings have them. `KB` is 1000 bytes and `KiB` is 1024. */
import { QUANTITY_TEXT_CHARS_MAX } from "./limits.js";

/** Whole bytes, or a clause saying what is wrong with the text. */
type ParsedByteSize = { ok: true; bytes: number } | { ok: false; reason: string };

const FACTORS: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["b", 1],
  ["byte", 1],
  ["bytes", 1],
  ["k", 1000],
  ["kb", 1000],
  ["m", 1000 ** 2],
  ["mb", 1000 ** 2],
  ["g", 1000 ** 3],
  ["gb", 1000 ** 3],
  ["t", 1000 ** 4],
  ["tb", 1000 ** 4],
  ["ki", 1024],
  ["kib", 1024],
  ["mi", 1024 ** 2],
  ["mib", 1024 ** 2],
  ["gi", 1024 ** 3],
  ["gib", 1024 ** 3],
  ["ti", 1024 ** 4],
  ["tib", 1024 ** 4],
]);

/** `32MiB`, `10 MB`, `1.5 GiB`, `1024`, or a number of bytes. */
export function parseByteSize(input: string | number): ParsedByteSize {
  if (typeof input === "number") return whole(input);
  const text = input.trim();
  const match = text.length > QUANTITY_TEXT_CHARS_MAX ? null : /^(\d[\d_]*(?:\.\d+)?)\s*([a-zA-Z]*)$/.exec(text);
  if (match === null) return { ok: false, reason: "not a size such as 32MiB, 10 MB or 1024" };
  const factor = FACTORS.get(match[2]!.toLowerCase());
  if (factor === undefined) return { ok: false, reason: `'${match[2]}' is not a unit of size` };
  return whole(Number(match[1]!.replaceAll("_", "")) * factor);
}

function whole(bytes: number): ParsedByteSize {
  if (!(bytes >= 0)) return { ok: false, reason: "a size cannot be negative" };
  const cut = Math.floor(bytes);
  return Number.isSafeInteger(cut) ? { ok: true, bytes: cut } : { ok: false, reason: "the size is too large" };
}

const SHOWN_UNITS: readonly (readonly [number, string])[] = [
  [1024 ** 4, "TiB"],
  [1024 ** 3, "GiB"],
  [1024 ** 2, "MiB"],
  [1024, "KiB"],
];

/** `32 MiB`, `1.5 KiB`, `512 B`: the largest binary unit, at most two digits of fraction. */
export function formatByteSize(bytes: number): string {
  for (const [size, name] of SHOWN_UNITS) {
    if (bytes >= size) return `${Number((bytes / size).toFixed(2))} ${name}`;
  }
  return `${bytes} B`;
}
