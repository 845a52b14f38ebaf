/** The list as CSV or JSON for spreadsheets and programs. Pure. */
import type { SqlRow } from "@perdure/admin-client";

const FORMATS = ["csv", "jsonl"] as const;
export type Format = (typeof FORMATS)[number];

/** Text before the first line. */
export function headOf(format: Format, columns: readonly string[]): string {
  return format === "csv" ? `${columns.map(csvCell).join(",")}\r\n` : "";
}

/** One line with its end. */
export function lineOfRow(format: Format, columns: readonly string[], row: SqlRow): string {
  if (format === "jsonl") return `${JSON.stringify(row)}\n`;
  return `${columns.map((column) => csvCell(row[column])).join(",")}\r\n`;
}

/**
 * RFC 4180. A text that a spreadsheet would parse as a formula gets an apostrophe, which makes it a text: keys come from untrusted clients.
 */
function csvCell(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : typeof value === "number" ? String(value) : JSON.stringify(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
