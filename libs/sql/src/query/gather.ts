/** Why: the engine asks for columns; this collects them from the partitions, in small steps and within a bound. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { TooMuchData } from "../errors.js";
import { CELL_BYTES, rowsPerTurn } from "../limits.js";
import type { IntrospectionSource } from "../ports.js";
import type { Cell, CellReader, Table } from "../table.js";
import { passes, type ScanHints } from "./hints.js";

/** Values of one table, by column index. */
export interface GatheredTable {
  readonly rowCount: number;
  readonly columns: ReadonlyMap<number, readonly Cell[]>;
}

/** What a statement may still gather; shared by its tables. */
export interface GatherBudget {
  bytesLeft: number;
}

/** Rejects with `TooMuchData` when the budget is used up, with the signal's reason when it is aborted. */
export async function gather(
  table: Table,
  wanted: ReadonlySet<number>,
  source: IntrospectionSource,
  hints: ScanHints,
  budget: GatherBudget,
  signal: AbortSignal,
): Promise<GatheredTable> {
  const columns = new Map<number, Cell[]>([...wanted].map((index) => [index, []]));
  const filters = [...hints.filters].map(([name, filter]) => ({ index: indexOf(table, name), filter }));
  const limit = hints.limit ?? Number.POSITIVE_INFINITY;
  const turn = rowsPerTurn(columns.size + filters.length);
  let rowCount = 0;
  let seen = 0;
  if (limit > 0) {
    const columnsRead = new Set([...wanted].map((index) => table.columns[index]?.name ?? "").concat(...hints.filters.keys()));
    for await (const read of table.scan(source, { ...hints, columns: columnsRead })) {
      if (++seen % turn === 0) {
        await nextTurn();
        signal.throwIfAborted();
      }
      if (!filters.every(({ index, filter }) => matches(read, index, filter))) continue;
      budget.bytesLeft -= append(columns, read);
      if (budget.bytesLeft < 0) {
        throw new TooMuchData(
          `the query reads too much of ${table.name}: select fewer columns, or narrow it by id, service or status`,
        );
      }
      if (++rowCount >= limit) break;
    }
  }
  return { rowCount, columns };
}

function indexOf(table: Table, name: string): number {
  return table.columns.findIndex((column) => column.name === name);
}

function matches(read: CellReader, index: number, filter: Parameters<typeof passes>[0]): boolean {
  const value = read(index);
  return typeof value === "string" && passes(filter, value);
}

/** Bytes the row costs. */
function append(columns: ReadonlyMap<number, Cell[]>, read: CellReader): number {
  let bytes = CELL_BYTES;
  for (const [index, values] of columns) {
    const value = read(index);
    values.push(value);
    bytes += CELL_BYTES + (typeof value === "object" || typeof value === "string" ? value.length : 0);
  }
  return bytes;
}
