/** Rows come without the columns that are null; this file shows and exports them with all columns in order. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { textOf } from "../rows.js";
import { ROWS_MAX } from "./limits.js";

export interface SqlResultColumn {
  readonly name: string;
  /** `LargeUtf8`, `UInt64` …; undefined where the statement cannot be described. */
  readonly type: string | undefined;
}

export interface SqlResult {
  readonly columns: readonly SqlResultColumn[];
  readonly rows: readonly SqlRow[];
  /** The result was cut. */
  readonly isCut: boolean;
}

/** `described`: rows of DESCRIBE; `rows`: up to one more than are shown. */
export function resultOf(described: readonly SqlRow[] | undefined, rows: readonly SqlRow[]): SqlResult {
  const columns =
    described === undefined
      ? [...new Set(rows.flatMap((row) => Object.keys(row)))].map((name) => ({ name, type: undefined }))
      : described.map((row) => ({ name: textOf(row, "column_name") ?? "", type: textOf(row, "data_type") }));
  return { columns, rows: rows.slice(0, ROWS_MAX), isCut: rows.length > ROWS_MAX };
}

/** Returns the value of a cell as text; undefined for NULL. */
export function cellText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Numbers are aligned right. */
export function isNumeric({ type }: SqlResultColumn): boolean {
  return type !== undefined && /^(?:U?Int|Float|Decimal)/.test(type);
}

/** A short form of `Timestamp(ms, "+00:00")` and similar types. */
export function typeText(type: string): string {
  if (type === "LargeUtf8" || type === "Utf8") return "text";
  if (type === "LargeBinary" || type === "Binary") return "bytes";
  if (type === "Boolean") return "yes/no";
  if (type.startsWith("Timestamp")) return "moment";
  if (type.startsWith("Duration")) return "duration";
  if (type.startsWith("List(")) return `list of ${typeText(type.slice("List(".length, -1))}`;
  return type.replace(/^U?Int\d+$/, "integer").replace(/^Float\d+$/, "number");
}

export function csvOf({ columns, rows }: SqlResult): string {
  const lines = [columns.map(({ name }) => csvField(name)), ...rows.map((row) => columns.map(({ name }) => csvCell(row[name])))];
  return `${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}

/** An array of objects; integers of any size keep their digits. */
export function jsonOf({ columns, rows }: SqlResult): string {
  const lines = rows.map((row) => {
    const fields = columns
      .filter(({ name }) => row[name] !== undefined && row[name] !== null)
      .map(({ name }) => `${JSON.stringify(name)}:${jsonValue(row[name])}`);
    return `{${fields.join(",")}}`;
  });
  return `[\n${lines.join(",\n")}\n]\n`;
}

function jsonValue(value: unknown): string {
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

/** A text that a spreadsheet would parse as a formula gets a quote in front of it. */
function csvCell(value: unknown): string {
  const text = cellText(value) ?? "";
  return csvField(typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
}

function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
