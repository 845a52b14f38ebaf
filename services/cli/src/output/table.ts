/** Why: lists are read by column. The last column is never padded, so that lines can be copied. */
import { stripVTControlCharacters } from "node:util";
import { oneLine } from "./controls.js";

export interface Column<Row> {
  readonly title: string;
  /** What stands there; may be painted. */
  readonly show: (row: Row) => string | undefined;
  /** Numbers stand to the right. */
  readonly align?: "left" | "right";
}

const GAP = "  ";
const widthOf = (text: string): number => [...stripVTControlCharacters(text)].length;

/** Lines of the table, titles first, without line ends. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  title: (text: string) => string,
): string[] {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.show(row) ?? "–")));
  const widths = columns.map((column, index) =>
    cells.reduce((widest, line) => Math.max(widest, widthOf(line[index] as string)), widthOf(column.title)),
  );
  const lineOf = (line: readonly string[]): string =>
    line
      .map((cell, index) => padded(cell, index, columns, widths))
      .join(GAP)
      .trimEnd();
  return [lineOf(columns.map((column) => title(column.title))), ...cells.map(lineOf)];
}

function padded<Row>(cell: string, index: number, columns: readonly Column<Row>[], widths: readonly number[]): string {
  const blank = " ".repeat((widths[index] as number) - widthOf(cell));
  if (columns[index]?.align === "right") return blank + cell;
  return index === columns.length - 1 ? cell : cell + blank;
}
