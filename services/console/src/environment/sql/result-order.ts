/** Order of rows and width of columns of a result, as far as it was fetched. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { COLUMN_CHARS_MAX, COLUMN_CHARS_MIN, MEASURED_ROWS_MAX } from "./limits.js";
import { cellText, type SqlResult, type SqlResultColumn } from "./result.js";

export interface ResultOrder {
  readonly column: string;
  readonly isDescending: boolean;
}

/** The next order after a press on the header of a column: ascending, descending, then as the statement returned the rows. */
export function nextOrder(order: ResultOrder | undefined, column: string): ResultOrder | undefined {
  if (order?.column !== column) return { column, isDescending: false };
  return order.isDescending ? undefined : { column, isDescending: true };
}

/** A new list; rows with equal values keep their order, and NULL comes last in both directions. */
export function ordered(rows: readonly SqlRow[], order: ResultOrder | undefined): readonly SqlRow[] {
  if (order === undefined) return rows;
  const { column, isDescending } = order;
  const isNull = (row: SqlRow) => cellText(row[column]) === undefined;
  return rows.toSorted((left, right) => {
    if (isNull(left) || isNull(right)) return Number(isNull(left)) - Number(isNull(right));
    const compared = compare(left[column], right[column]);
    return isDescending ? -compared : compared;
  });
}

function compare(left: unknown, right: unknown): number {
  if (isNumber(left) && isNumber(right)) return left < right ? -1 : Number(left > right);
  const [a, b] = [cellText(left) ?? "", cellText(right) ?? ""];
  return a < b ? -1 : Number(a > b);
}

/** Large integers are `bigint`, and compare with numbers by their value. */
function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Characters that the widest of the first cells and the header of the column need, within bounds. */
export function columnChars({ rows }: Pick<SqlResult, "rows">, { name }: SqlResultColumn): number {
  const cells = rows.slice(0, MEASURED_ROWS_MAX).map((row) => (cellText(row[name]) ?? "NULL").length);
  return Math.min(COLUMN_CHARS_MAX, Math.max(COLUMN_CHARS_MIN, name.length, ...cells));
}
