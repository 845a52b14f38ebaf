/** Tables of a bounded number of rows, readable by screen readers; on narrow screens each row is a card. */
import type { ReactNode } from "react";
import "./table.css";

export interface TableColumn<R> {
  readonly name: string;
  readonly cell: (row: R) => ReactNode;
  readonly isNumber?: boolean;
  /** Free text: as wide as the rest of the table, and broken anywhere when a word is wider. */
  readonly isText?: boolean;
  /** Read out, not shown: of buttons. */
  readonly isNameHidden?: boolean;
}

interface TableProps<R> {
  /** Label of the table for screen readers. */
  readonly label: string;
  readonly rows: readonly R[];
  readonly columns: readonly TableColumn<R>[];
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
                <Cell
                  key={column.name}
                  column={column.isNameHidden ? undefined : column.name}
                  isNumber={column.isNumber}
                  isText={column.isText}
                >
                  {column.cell(row)}
                </Cell>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface CellProps {
  /** Shown beside the value where rows are cards. */
  readonly column?: string | undefined;
  readonly isNumber?: boolean | undefined;
  readonly isText?: boolean | undefined;
  readonly isCode?: boolean;
  readonly children: ReactNode;
}

export function Cell({ column, isNumber, isText, isCode, children }: CellProps) {
  return (
    <td className={isNumber ? "number" : isText ? "text" : undefined}>
      <div className="table__cell" data-column={column}>
        <div className={isCode ? "table__value code" : "table__value"}>{children}</div>
      </div>
    </td>
  );
}
