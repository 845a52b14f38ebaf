/** The tables of the environment with their columns, as a reference beside the query. */
import { useState } from "react";
import { Breakable, Button, TextField } from "../../kit/index.js";

interface TablesListProps {
  /** Columns by table. */
  readonly tables: Readonly<Record<string, readonly string[]>>;
  readonly onPick: (statement: string) => void;
}

export function TablesList({ tables, onPick }: TablesListProps) {
  const [find, setFind] = useState("");
  const part = find.trim().toLowerCase();
  const shown = Object.entries(tables).filter(([table, columns]) => [table, ...columns].some((name) => name.includes(part)));
  return (
    <details className="card">
      <summary>Tables</summary>
      {shown.length === 0 && part === "" ? (
        <p className="quiet small">Loading tables …</p>
      ) : (
        <div className="stack stack--tight sql__tables">
          <TextField
            label="Table or column contains"
            isLabelHidden
            type="search"
            placeholder="Table or column"
            value={find}
            onChange={setFind}
            spellCheck={false}
            autoComplete="off"
          />
          <ul className="sql__list">
            {shown.map(([table, columns]) => (
              <li key={table}>
                <TableEntry table={table} columns={columns} part={part} onPick={onPick} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </details>
  );
}

interface TableEntryProps {
  readonly table: string;
  readonly columns: readonly string[];
  /** Searched text; columns that have it stand out. */
  readonly part: string;
  readonly onPick: (statement: string) => void;
}

function TableEntry({ table, columns, part, onPick }: TableEntryProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="sql__table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Breakable text={table} />
      </summary>
      {isOpen && (
        <>
          <Button isSmall onClick={() => onPick(`SELECT * FROM ${table} LIMIT 100`)}>
            First 100 rows
          </Button>
          <ul className="sql__columns code small" aria-label={`Columns of ${table}`}>
            {columns.map((column) => (
              <li key={column} className={part !== "" && column.includes(part) ? "sql__column--found" : undefined}>
                <Breakable text={column} />
              </li>
            ))}
          </ul>
        </>
      )}
    </details>
  );
}
