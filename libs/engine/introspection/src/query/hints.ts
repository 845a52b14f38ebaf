/**
 * What a statement certainly needs of a table, so that reading can stop early. Hints only ever drop rows that the statement's own
 * predicates would drop; the engine applies those again.
 */

export interface ColumnFilter {
  /** The column equals one of these; undefined = any value. */
  readonly allowed: ReadonlySet<string> | undefined;
  /** The column equals none of these. */
  readonly denied: ReadonlySet<string>;
}

export interface ScanHints {
  /** Filters by column name. NULL never passes a filter. */
  readonly filters: ReadonlyMap<string, ColumnFilter>;
  /** This many rows that pass the filters are enough. */
  readonly limit: number | undefined;
  /**
   * Set when only the first `count` rows that pass the filters, ordered by this column, are needed, and the rows equal to the last of them.
   */
  readonly top: TopHint | undefined;
  /** Columns whose values are read, those of the filters included; undefined = any. */
  readonly columns: ReadonlySet<string> | undefined;
}

/** `column` holds times. */
export interface TopHint {
  readonly column: string;
  readonly isDescending: boolean;
  readonly count: number;
}

export const NO_HINTS: ScanHints = { filters: new Map(), limit: undefined, top: undefined, columns: undefined };

/** Whether the values of a column are read at all. */
export function isRead(hints: ScanHints, column: string): boolean {
  return hints.columns === undefined || hints.columns.has(column);
}

/** The values that a column may have, if the statement names them. */
export function allowedValues(hints: ScanHints, column: string): ReadonlySet<string> | undefined {
  return hints.filters.get(column)?.allowed;
}

/** Whether rows with this value are needed. */
export function isNeeded(hints: ScanHints, column: string, value: string): boolean {
  const filter = hints.filters.get(column);
  return filter === undefined || passes(filter, value);
}

export function passes(filter: ColumnFilter, value: string): boolean {
  return (filter.allowed === undefined || filter.allowed.has(value)) && !filter.denied.has(value);
}
