/** Why: rows of a bounded number, as tables that screen readers understand; on narrow screens they scroll sideways in themselves. */
import type { ReactNode } from "react";
import "./table.css";

export interface Column<R> {
  readonly name: string;
  readonly cell: (row: R) => ReactNode;
  readonly isNumber?: boolean;
  /** Read out, not shown: of buttons. */
  readonly isNameHidden?: boolean;
}

export interface TableProps<R> {
  /** What is listed, for those who do not see where it stands. */
  readonly label: string;
  readonly rows: readonly R[];
  readonly columns: readonly Column<R>[];
  readonly keyOf: (row: R) => string;
  /** Instead of an empty table. */
  readonly empty?: ReactNode;
}

export function Table<R>({ label, rows, columns, keyOf, empty }: TableProps<R>) {
  if (rows.length === 0 && empty !== undefined) return empty;
  return (
    // A region that scrolls must be reachable with the keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section className="table-room" tabIndex={0} aria-label={label}>
      <table className="table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={column.isNumber ? "number" : undefined}>
                <span className={column.isNameHidden ? "visually-hidden" : undefined}>{column.name}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} className={column.isNumber ? "number" : undefined}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
