/** Lists by column. The last column is never padded, so that lines can be copied; on a terminal, long cells are cut to its width. */
import { stripVTControlCharacters } from "node:util";
import { present } from "@perdure/base";
import { oneLine } from "./controls.js";

export interface OutputColumn<Row> {
  readonly title: string;
  /** The cell's text; may have colours. */
  readonly show: (row: Row) => string | undefined;
  /** Numbers are aligned to the right. */
  readonly align?: "left" | "right";
  /** Cells may be cut to so many characters when the terminal is too narrow; undefined: never (ids, names that other commands take). */
  readonly cutTo?: number;
}

const GAP = "  ";
const widthOf = (text: string): number => [...stripVTControlCharacters(text)].length;

/** Lines of the table, titles first, without line ends. `widthMax`: columns of the terminal; undefined: nothing is cut. */
export function tableLines<Row>(
  columns: readonly OutputColumn<Row>[],
  rows: readonly Row[],
  title: (text: string) => string,
  widthMax?: number,
): string[] {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.show(row) ?? "–")));
  const widths = fitted(
    columns,
    columns.map((column, index) =>
      cells.reduce((widest, line) => Math.max(widest, widthOf(line[index] ?? "")), widthOf(column.title)),
    ),
    widthMax,
  );
  const lineOf = (line: readonly string[]): string =>
    line
      .map((cell, index) => padded(cell, index, columns, present(widths[index])))
      .join(GAP)
      .trimEnd();
  return [lineOf(columns.map((column) => title(column.title))), ...cells.map(lineOf)];
}

/** Reduces the widest columns that may be cut, until the line fits or none of them can be reduced further. */
function fitted<Row>(
  columns: readonly OutputColumn<Row>[],
  natural: readonly number[],
  widthMax: number | undefined,
): readonly number[] {
  const widths = [...natural];
  let excess =
    widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1)) - (widthMax ?? Number.POSITIVE_INFINITY);
  const floorOf = (index: number): number =>
    Math.max(columns[index]?.cutTo ?? Number.POSITIVE_INFINITY, widthOf(columns[index]?.title ?? ""));
  for (; excess > 0; excess--) {
    let [widest, reduced] = [-1, 0];
    for (const [index, width] of widths.entries())
      if (width > floorOf(index) && width > reduced) [widest, reduced] = [index, width];
    if (widest < 0) break;
    widths[widest] = reduced - 1;
  }
  return widths;
}

const ESCAPE_OR_CHARACTER = /\x1b\[[0-9;]*m|[\s\S]/gu;

/** Returns at most `width` characters, the last one `…` when the text was cut; escapes for colours are kept, so that they end. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let [kept, shown] = ["", 0];
  for (const [piece] of text.matchAll(ESCAPE_OR_CHARACTER)) {
    if (piece.startsWith("\x1b[")) kept += piece;
    else if (++shown < width) kept += piece;
    else if (shown === width) kept += "…";
  }
  return kept;
}

function padded<Row>(text: string, index: number, columns: readonly OutputColumn<Row>[], width: number): string {
  const cell = cut(text, width);
  const blank = " ".repeat(width - widthOf(cell));
  if (columns[index]?.align === "right") return blank + cell;
  return index === columns.length - 1 ? cell : cell + blank;
}
