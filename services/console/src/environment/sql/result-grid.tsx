/** Thousands of rows scroll smoothly because only the visible ones are rendered; screen readers get the number of all rows. */
import type { SqlRow } from "@perdure/admin-client";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState } from "react";
import { Button, Dialog } from "../../kit/index.js";
import { CELL_CHARS_SHOWN, ROW_HEIGHT } from "./limits.js";
import { cellText, isNumeric, type SqlResult, type SqlResultColumn, typeText } from "./result.js";

const NUMBER_WIDTH = "4.5rem";

export function ResultGrid({ result: { columns, rows } }: { readonly result: SqlResult }) {
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
          {columns.map((column) => (
            // biome-ignore lint/a11y/useSemanticElements: see above
            <div
              key={column.name}
              className="sql__cell"
              role="columnheader"
              style={{ width: widthOf(column) }}
              title={column.name}
              tabIndex={-1}
            >
              {column.name}
              {column.type !== undefined && (
                <span className="sql__type" title={column.type}>
                  {typeText(column.type)}
                </span>
              )}
            </div>
          ))}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div className="sql__body" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <DataRow key={index} index={index} start={start} row={rows[index] ?? {}} columns={columns} onOpen={setShown} />
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

interface DataRowProps {
  readonly index: number;
  readonly start: number;
  readonly row: SqlRow;
  readonly columns: readonly SqlResultColumn[];
  readonly onOpen: (index: number) => void;
}

function DataRow({ index, start, row, columns, onOpen }: DataRowProps) {
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
      {columns.map((column) => {
        const text = cellText(row[column.name]);
        return (
          // biome-ignore lint/a11y/useSemanticElements: see above
          <div
            key={column.name}
            role="cell"
            className={`sql__cell${isNumeric(column) ? " sql__cell--number" : ""}`}
            style={{ width: widthOf(column) }}
          >
            {text === undefined ? <span className="quiet">NULL</span> : text.slice(0, CELL_CHARS_SHOWN)}
          </div>
        );
      })}
    </div>
  );
}

function widthOf(column: SqlResultColumn): string {
  if (isNumeric(column)) return "11rem";
  if (column.type === "Boolean") return "7rem";
  return column.type?.startsWith("Timestamp") ? "13rem" : "18rem";
}
