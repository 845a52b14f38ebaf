/**
 * Encodes a result as `{"rows":[…]}` as clients of the reference parse it: NULL omitted, 64-bit integers as bare digits
 * (introspection-sql.md §3.2).
 */
import { toHex, unreachable, utf8 } from "@perdure/base";
import { JSON_CHUNK_CHARS } from "../limits.js";
import type { ColumnValues, ResultRows } from "./result.js";

export const JSON_CONTENT_TYPE = "application/json";

export async function* encodeJson({ columns, batches }: ResultRows): AsyncIterable<Uint8Array> {
  const keys = columns.map(({ name }) => `${JSON.stringify(name)}:`);
  let text = '{"rows":[';
  let isFirst = true;
  for await (const { rowCount, columns: values } of batches) {
    const texts = values.map(textReader);
    for (let row = 0; row < rowCount; row++) {
      text += isFirst ? "{" : ",{";
      isFirst = false;
      let separator = "";
      for (let i = 0; i < columns.length; i++) {
        const long = longValue(values[i], row);
        if (long !== undefined) {
          yield utf8(`${text}${separator}${keys[i]}"`);
          yield* piecesOf(long);
          text = '"';
          separator = ",";
          continue;
        }
        const encoded = texts[i]?.(row);
        if (encoded === undefined) continue;
        text += separator + keys[i] + encoded;
        separator = ",";
      }
      text += "}";
      if (text.length >= JSON_CHUNK_CHARS) {
        yield utf8(text);
        text = "";
      }
    }
  }
  yield utf8(`${text}]}`);
}

function longValue(column: ColumnValues | undefined, row: number): string | Uint8Array | undefined {
  if (column?.kind !== "text" && column?.kind !== "bytes") return undefined;
  const value = column.values[row] ?? "";
  return value.length > JSON_CHUNK_CHARS ? value : undefined;
}

/** The text between the quotes of a long value, in parts; the whole text at once would take several times its size. */
function* piecesOf(value: string | Uint8Array): Iterable<Uint8Array> {
  for (let start = 0; start < value.length; ) {
    let end = Math.min(start + JSON_CHUNK_CHARS, value.length);
    if (typeof value === "string") {
      if (end < value.length && isHighSurrogate(value.charCodeAt(end - 1))) end--; // Halves of a character stay together.
      yield utf8(JSON.stringify(value.slice(start, end)).slice(1, -1));
    } else {
      yield utf8(toHex(value.subarray(start, end)));
    }
    start = end;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** Reads the text of a row's value; undefined for NULL, and for numbers that JSON cannot represent. */
type TextReader = (row: number) => string | undefined;

function textReader(column: ColumnValues): TextReader {
  switch (column.kind) {
    case "bool":
    case "uint32":
    case "int64":
    case "uint64":
      return printed<boolean | number | bigint>(column.values, String);
    case "float64":
      return printed(column.values, floatText);
    case "text":
      return printed(column.values, (value) => JSON.stringify(value));
    case "bytes":
      return printed(column.values, (value) => `"${toHex(value)}"`);
    case "instant":
      return printed(column.values, (value) => `"${wallTimeText(value * 1_000_000n)}Z"`);
    case "wallTime":
      return printed(column.values, (value) => `"${wallTimeText(value)}"`);
    case "date":
      return printed(column.values, (value) => `"${new Date(value * 86_400_000).toISOString().slice(0, 10)}"`);
    case "duration":
      return printed(column.values, (value) => `"${durationText(value)}"`);
    case "list": {
      const item = textReader(column.items);
      return printed(column.values, ({ start, end }) => {
        const items = Array.from({ length: end - start }, (_, i) => item(start + i) ?? "null");
        return `[${items.join(",")}]`;
      });
    }
    case "null":
      return () => undefined;
    default:
      return unreachable(column);
  }
}

function printed<Value>(values: readonly (Value | null)[], print: (value: Value) => string | undefined): TextReader {
  return (row) => {
    const value = values[row] ?? null;
    return value === null ? undefined : print(value);
  };
}

function floatText(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined;
  const text = String(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** Largest time that a Date can represent. */
const DATE_MS_MAX = 8_640_000_000_000_000n;

/** `2026-11-21T07:25:50.475`: three, six or nine digits of fraction, none when it is zero. */
function wallTimeText(nanos: bigint): string {
  const fraction = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const ms = (nanos - fraction) / 1_000_000n;
  const seconds = new Date(Number(ms > DATE_MS_MAX ? DATE_MS_MAX : ms)).toISOString().slice(0, -5);
  if (fraction === 0n) return seconds;
  return `${seconds}.${fraction
    .toString()
    .padStart(9, "0")
    .replace(/(?:000){1,2}$/, "")}`;
}

/** ISO 8601 with seconds as the largest unit: `PT86400S`, `PT0.001S`, zero is `P0D`. */
function durationText(ms: bigint): string {
  if (ms === 0n) return "P0D";
  const size = ms < 0n ? -ms : ms;
  const fraction = (size % 1000n).toString().padStart(3, "0").replace(/0+$/, "");
  return `${ms < 0n ? "-" : ""}PT${size / 1000n}${fraction === "" ? "" : `.${fraction}`}S`;
}
