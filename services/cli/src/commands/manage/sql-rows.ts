/** Rows of a statement as columns and as comma-separated values. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { textOf } from "./texts.js";

/** Returns the columns in the order of their first appearance; the server omits null columns. */
export function columnsOf(rows: readonly SqlRow[]): readonly string[] {
  const names = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) names.add(name);
  return [...names];
}

/** RFC 4180. Values that a spreadsheet takes for formulas are not changed: the output is the data. */
export function csvLines(rows: readonly SqlRow[]): readonly string[] {
  const columns = columnsOf(rows);
  if (columns.length === 0) return [];
  const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [columns, ...rows.map((row) => columns.map((name) => textOf(row, name) ?? ""))].map((cells) =>
    cells.map(cell).join(","),
  );
}
