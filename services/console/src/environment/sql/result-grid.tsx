/** Thousands of rows scroll smoothly because only the visible ones are rendered; screen readers get the number of all rows. */
import type { SqlRow } from "@perdure/admin-client";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import { Button, Dialog } from "../../kit/index.js";
import { CELL_CHARS_SHOWN, ROW_HEIGHT } from "./limits.js";
import { cellText, isNumeric, type SqlResult, type SqlResultColumn, typeText } from "./result.js";
import { columnChars, nextOrder, ordered, type ResultOrder } from "./result-order.js";

const NUMBER_WIDTH = "4.5rem";
/** Space beside the text of a cell, and for the sign of the order. */
const PADDING_CHARS = 4;

export function ResultGrid({ result }: { readonly result: SqlResult }) {
  const { columns } = result;
  const [order, setOrder] = useState<ResultOrder>();
  const rows = useMemo(() => ordered(result.rows, order), [result.rows, order]);
  const widths = useMemo(() => columns.map((column) => `${columnChars(result, column) + PADDING_CHARS}ch`), [columns, result]);
  const container = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState<number>();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => container.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  const opened = shown === undefined ? undefined : rows[shown];
  return (
    <>
      {/* A table by its roles: rows are placed by hand, and most of them are not there. */}
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      <div
        className="sql__grid"
        ref={container}
        role="table"
        aria-label="Result"
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length + 1}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
        tabIndex={0}
      >
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div className="sql__row sql__row--head" role="row" aria-rowindex={1} tabIndex={-1}>
          {/* biome-ignore lint/a11y/useSemanticElements: see above */}
          <div className="sql__cell" role="columnheader" style={{ width: NUMBER_WIDTH }} tabIndex={-1}>
            <span className="visually-hidden">Row</span>
          </div>
          {columns.map((column, index) => (
            <HeadCell
              key={column.name}
              column={column}
              width={widths[index] ?? ""}
              order={order}
              onOrder={() => setOrder(nextOrder(order, column.name))}
            />
          ))}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div className="sql__body" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <DataRow
              key={index}
              index={index}
              start={start}
              row={rows[index] ?? {}}
              columns={columns}
              widths={widths}
              onOpen={setShown}
            />
          ))}
        </div>
      </div>
      {opened !== undefined && shown !== undefined && (
        <Dialog title={`Row ${shown + 1}`} isOpen onClose={() => setShown(undefined)} isWide>
          <dl className="stack stack--tight">
            {columns.map(({ name }) => (
              <div key={name}>
                <dt className="quiet small">{name}</dt>
                <dd className="sql__value">{cellText(opened[name]) ?? <span className="quiet">NULL</span>}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}

interface HeadCellProps {
  readonly column: SqlResultColumn;
  readonly width: string;
  readonly order: ResultOrder | undefined;
  readonly onOrder: () => void;
}

/** The name of a column sorts the fetched rows by it. */
function HeadCell({ column: { name, type }, width, order, onOrder }: HeadCellProps) {
  const direction = order?.column !== name ? undefined : order.isDescending ? "descending" : "ascending";
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table by its roles
    <div className="sql__cell" role="columnheader" style={{ width }} title={name} tabIndex={-1} aria-sort={direction ?? "none"}>
      <button type="button" className="sql__sort" onClick={onOrder}>
        {name}
        {direction !== undefined && <span aria-hidden="true">{direction === "ascending" ? " ▲" : " ▼"}</span>}
      </button>
      {type !== undefined && (
        <span className="sql__type" title={type}>
          {typeText(type)}
        </span>
      )}
    </div>
  );
}

interface DataRowProps {
  readonly index: number;
  readonly start: number;
  readonly row: SqlRow;
  readonly columns: readonly SqlResultColumn[];
  /** Of the columns, in the same order. */
  readonly widths: readonly string[];
  readonly onOpen: (index: number) => void;
}

function DataRow({ index, start, row, columns, widths, onOpen }: DataRowProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a row by its role, placed by hand
    <div
      className="sql__row sql__row--data"
      role="row"
      aria-rowindex={index + 2}
      tabIndex={-1}
      style={{ height: ROW_HEIGHT, transform: `translateY(${start}px)` }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      <div className="sql__cell" role="cell" style={{ width: NUMBER_WIDTH, padding: 0 }}>
        <Button isSmall appearance="bare" aria-label={`${index + 1}: show the whole row`} onClick={() => onOpen(index)}>
          {index + 1}
        </Button>
      </div>
      {columns.map((column, at) => {
        const text = cellText(row[column.name]);
        return (
          // biome-ignore lint/a11y/useSemanticElements: see above
          <div
            key={column.name}
            role="cell"
            className={`sql__cell${isNumeric(column) ? " sql__cell--number" : ""}`}
            style={{ width: widths[at] }}
          >
            {text === undefined ? <span className="quiet">NULL</span> : text.slice(0, CELL_CHARS_SHOWN)}
          </div>
        );
      })}
    </div>
  );
}
