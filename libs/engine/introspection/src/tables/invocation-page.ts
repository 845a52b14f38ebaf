/** `sys_invocation` and `sys_invocation_status` as pages of stored rows, from which each column reads its value. */
import type { InvocationId } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import { InvocationFields } from "@perdure/storage";
import type { AnyColumn } from "../column.js";
import type { HeldInvocation } from "../ports.js";
import { columnsOf, type TableName } from "../schema.js";
import { type Readers, type RowPage, readersByIndex, type SqlValue } from "../table.js";
import { type FieldColumn, fieldColumns } from "./invocation-columns.js";
import { invocationReaders } from "./invocation-readers.js";

/** A stored row and the invoker's view of it. */
export interface InvocationTableRow {
  readonly fields: InvocationFields;
  readonly held: HeldInvocation | undefined;
}

type ColumnSource =
  | { readonly kind: "fields"; readonly column: FieldColumn }
  | { readonly kind: "row"; readonly read: (row: InvocationTableRow) => SqlValue }
  | { readonly kind: "stored"; readonly read: (stored: Invocation) => SqlValue };

/** The source of each column of a table, by index. */
type PageColumns = readonly (ColumnSource | undefined)[];

/** `own` are columns that only this table has; they receive the row and the invoker's view of it. */
export function pageColumns(table: TableName, own: Readers<InvocationTableRow>): PageColumns {
  const columns = columnsOf(table);
  const stored = readersByIndex(table, columns, invocationReaders);
  const rows = readersByIndex(table, columns, own);
  return columns.map(({ name }, index): ColumnSource | undefined => {
    const row = rows[index];
    if (row !== undefined) return { kind: "row", read: row };
    const column = fieldColumns[name];
    if (column !== undefined) return { kind: "fields", column };
    const read = stored[index];
    return read === undefined ? undefined : { kind: "stored", read };
  });
}

export class InvocationPage implements RowPage {
  readonly #columns: PageColumns;
  readonly #held: ReadonlyMap<InvocationId, HeldInvocation>;
  readonly #row: { readonly fields: InvocationFields; held: HeldInvocation | undefined } = {
    fields: new InvocationFields(),
    held: undefined,
  };
  #rows: readonly Uint8Array[] = [];

  /** `held` by id; empty when no column needs it. */
  constructor(columns: PageColumns, held: ReadonlyMap<InvocationId, HeldInvocation>) {
    this.#columns = columns;
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

  go(index: number): void {
    const row = this.#row;
    row.fields.load(this.#rows[index] as Uint8Array);
    row.held = this.#held.size > 0 && mayBeHeld(row.fields.status) ? this.#held.get(row.fields.invocationId) : undefined;
  }

  read(index: number): SqlValue {
    const column = this.#columns[index];
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
    const column = this.#columns[index];
    if (column?.kind === "fields") column.column.append(this.#row.fields, into);
    else into.push(this.read(index));
  }
}

/** Invokers drop suspended, paused and completed invocations, and do not have waiting ones. */
function mayBeHeld(status: Invocation["status"] | undefined): boolean {
  return status === "invoked" || status === "ready";
}
