/** `sys_invocation` and `sys_invocation_status` as pages of stored rows, from which each column reads its value. */
import type { InvocationId } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import { InvocationFields } from "@perdure/storage";
import type { AnyColumn } from "../column.js";
import type { RowColumn } from "../completed/rows.js";
import type { HeldInvocation } from "../ports.js";
import { columnsOf, type TableName } from "../schema.js";
import { type ColumnType, type Readers, type RowPage, readersByIndex, type SqlValue } from "../table.js";
import { type FieldColumn, fieldColumns } from "./invocation-columns.js";
import { invocationReaders } from "./invocation-readers.js";

/** A stored row and the invoker's view of it. */
export interface InvocationTableRow {
  readonly fields: InvocationFields;
  readonly held: HeldInvocation | undefined;
}

type ColumnSource =
  | { readonly kind: "fields"; readonly column: FieldColumn; readonly completed: RowColumn }
  | { readonly kind: "row"; readonly read: (row: InvocationTableRow) => SqlValue; readonly completed: RowColumn }
  | { readonly kind: "stored"; readonly read: (stored: Invocation) => SqlValue; readonly completed?: undefined };

/** The source of each column of a table, by index. `completed` makes the column for completed invocations, which no invoker holds. */
export type PageColumns = readonly (ColumnSource | undefined)[];

/** `own` are columns that only this table has; they receive the row and the invoker's view of it. */
export function pageColumns(table: TableName, own: Readers<InvocationTableRow>): PageColumns {
  const columns = columnsOf(table);
  const stored = readersByIndex(table, columns, invocationReaders);
  const rows = readersByIndex(table, columns, own);
  return columns.map(({ name, type }, index): ColumnSource | undefined => {
    const row = rows[index];
    if (row !== undefined) {
      const append = (fields: InvocationFields, into: AnyColumn): void => into.push(row({ fields, held: undefined }));
      return { kind: "row", read: row, completed: { type, append } };
    }
    const column = fieldColumns[name];
    if (column !== undefined) return { kind: "fields", column, completed: rowColumnOf(name, type, column) };
    const read = stored[index];
    return read === undefined ? undefined : { kind: "stored", read };
  });
}

/** Both tables of invocations have these columns, with the same values. */
const rowColumns = new Map<string, RowColumn>();
function rowColumnOf(name: string, type: ColumnType, { append }: FieldColumn): RowColumn {
  const made = rowColumns.get(name) ?? { type, append };
  rowColumns.set(name, made);
  return made;
}

export class InvocationPage implements RowPage {
  readonly columns: PageColumns;
  readonly #held: ReadonlyMap<InvocationId, HeldInvocation>;
  readonly #row: { readonly fields: InvocationFields; held: HeldInvocation | undefined } = {
    fields: new InvocationFields(),
    held: undefined,
  };
  #rows: readonly Uint8Array[] = [];

  /** `held` by id; empty when no column needs it. */
  constructor(columns: PageColumns, held: ReadonlyMap<InvocationId, HeldInvocation>) {
    this.columns = columns;
    this.#held = held;
  }

  /** The same page with other rows. */
  over(rows: readonly Uint8Array[]): this {
    this.#rows = rows;
    return this;
  }

  get rowCount(): number {
    return this.#rows.length;
  }

  /** Makes a row that no invoker holds the current one. */
  goTo(stored: Uint8Array): void {
    this.#row.fields.load(stored);
    this.#row.held = undefined;
  }

  go(index: number): void {
    const row = this.#row;
    row.fields.load(this.#rows[index]!);
    row.held = this.#held.size > 0 && mayBeHeld(row.fields.status) ? this.#held.get(row.fields.invocationId) : undefined;
  }

  read(index: number): SqlValue {
    const column = this.columns[index];
    if (column === undefined) return undefined;
    switch (column.kind) {
      case "fields":
        return column.column.read(this.#row.fields);
      case "row":
        return column.read(this.#row);
      case "stored":
        return column.read(this.#row.fields.decoded());
    }
  }

  append(index: number, into: AnyColumn): void {
    const column = this.columns[index];
    if (column?.kind === "fields") column.column.append(this.#row.fields, into);
    else into.push(this.read(index));
  }
}

/** Invokers drop suspended, paused and completed invocations, and do not have waiting ones. */
function mayBeHeld(status: Invocation["status"] | undefined): boolean {
  return status === "invoked" || status === "ready";
}
