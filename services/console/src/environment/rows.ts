/** Fields of SQL rows, in which a column that is null is absent. Pure. */
import type { SqlRow } from "@perdure/admin-client";

export function textOf(row: SqlRow, column: string): string | undefined {
  const value = row[column];
  return value === undefined || value === null ? undefined : String(value);
}

/** 0 when it is absent or no number. */
export function numberOf(row: SqlRow, column: string): number {
  const value = Number(row[column] ?? 0);
  return Number.isFinite(value) ? value : 0;
}

/** Undefined when it is absent. */
export function countOf(row: SqlRow, column: string): number | undefined {
  return row[column] === undefined || row[column] === null ? undefined : numberOf(row, column);
}
