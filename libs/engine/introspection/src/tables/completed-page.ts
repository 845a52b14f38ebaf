/** Pages of stored invocations for the two tables of them: those that the process keeps as columns, all others row by row. */
import type { Invocation } from "@perdure/state-machine";
import type { AnyColumn } from "../column.js";
import type { CompletedRows } from "../completed/rows.js";
import { COMPLETED_COLUMN_SHARE, COMPLETED_PAGE_ROWS } from "../limits.js";
import type { IntrospectionSource } from "../ports.js";
import type { ScanHints } from "../query/hints.js";
import type { ColumnarRows, RowPage, SqlValue } from "../table.js";
import type { InvocationPage, PageColumns } from "./invocation-page.js";
import { completedRows, findInvocations } from "./invocations.js";

/** Stored invocations whose status the statement needs. `page` is used for all of them. */
export async function* invocationPages(
  source: IntrospectionSource,
  hints: ScanHints,
  isNeeded: (status: Invocation["status"]) => boolean,
  page: InvocationPage,
): AsyncIterable<RowPage> {
  const kept = isNeeded("completed") ? await completedRows(source, hints) : undefined;
  const isRead = kept === undefined ? isNeeded : (status: Invocation["status"]) => status !== "completed" && isNeeded(status);
  for await (const rows of findInvocations(source, hints, isRead)) yield page.over(rows);
  if (kept === undefined) return;
  const { bytesMax = 0 } = source.completed ?? {};
  for (let from = 0; from < kept.rowCount; from += COMPLETED_PAGE_ROWS)
    yield new CompletedPage(kept, { from, to: Math.min(from + COMPLETED_PAGE_ROWS, kept.rowCount) }, bytesMax, page);
}

class CompletedPage implements RowPage {
  readonly columnar: ColumnarRows;
  readonly #kept: CompletedRows;
  readonly #page: InvocationPage;

  constructor(
    kept: CompletedRows,
    { from, to }: { readonly from: number; readonly to: number },
    bytesMax: number,
    page: InvocationPage,
  ) {
    this.#kept = kept;
    this.#page = page;
    const columns: PageColumns = page.columns;
    this.columnar = {
      rows: kept.liveRows(from, to),
      column(index, rowsNeeded): AnyColumn | undefined {
        const column = columns[index]?.completed;
        if (column === undefined) return undefined;
        const isWorthIt = rowsNeeded >= (to - from) * COMPLETED_COLUMN_SHARE;
        return isWorthIt || kept.hasColumn(column) ? kept.column(column, bytesMax) : undefined;
      },
    };
  }

  get rowCount(): number {
    return this.columnar.rows.length;
  }

  go(row: number): void {
    this.#page.goTo(this.#kept.row(row));
  }

  read(column: number): SqlValue {
    return this.#page.read(column);
  }

  append(column: number, into: AnyColumn): void {
    this.#page.append(column, into);
  }
}
