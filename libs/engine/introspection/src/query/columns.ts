/** Filters and copies whole columns, without a JavaScript value for each cell. */
import { utf8 } from "@perdure/base";
import { type AnyColumn, BigColumn, ListColumn, NumberColumn, TextColumn } from "../column.js";
import { type ColumnFilter, passes } from "./hints.js";

/** Texts of a filter up to which comparing bytes is cheaper than decoding each value. */
const BYTES_COMPARED_MAX = 8;

/** Appends rows of one column to another of the same type. */
export function pushRows(into: AnyColumn, from: AnyColumn, rows: Int32Array): void {
  if (into instanceof TextColumn && from instanceof TextColumn) into.pushRows(from, rows);
  else if (into instanceof NumberColumn && from instanceof NumberColumn) into.pushRows(from, rows);
  else if (into instanceof BigColumn && from instanceof BigColumn) into.pushRows(from, rows);
  else if (into instanceof ListColumn && from instanceof ListColumn) into.pushRows(from, rows);
  else throw new Error("two columns of one type have one class");
}

/** Those of the rows whose value passes; NULL never does. */
export function rowsThatPass(column: AnyColumn, rows: Int32Array, filter: ColumnFilter): Int32Array {
  if (column instanceof TextColumn) return rows.filter(textPasses(column, filter));
  const { values } = column;
  return rows.filter((row) => !column.isNull(row) && passes(filter, String(values[row])));
}

function textPasses(column: TextColumn, { allowed, denied }: ColumnFilter): (row: number) => boolean {
  const isAllowed = allowed === undefined ? undefined : textIn(column, allowed);
  const isDenied = denied.size === 0 ? undefined : textIn(column, denied);
  return (row) => !column.isNull(row) && isAllowed?.(row) !== false && isDenied?.(row) !== true;
}

function textIn(column: TextColumn, texts: ReadonlySet<string>): (row: number) => boolean {
  if (texts.size > BYTES_COMPARED_MAX) return (row) => texts.has(column.text(row));
  const compared = [...texts].map(utf8);
  return (row) => compared.some((bytes) => column.hasBytes(row, bytes));
}
