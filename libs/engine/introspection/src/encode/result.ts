/**
 * The rows that both encodings read. The engine has more and other types than clients support, so this is a small set of types
 * (introspection-sql.md §5.3).
 */

/** The JavaScript form of values: times are since 1970, a wall time has no zone. */
interface ScalarValues {
  readonly bool: boolean;
  readonly uint32: number;
  readonly int64: bigint;
  readonly uint64: bigint;
  readonly float64: number;
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Milliseconds. */
  readonly instant: bigint;
  /** Nanoseconds. */
  readonly wallTime: bigint;
  /** Days. */
  readonly date: number;
  /** Milliseconds. */
  readonly duration: bigint;
  readonly null: never;
}

export type ScalarKind = keyof ScalarValues;
export type ScalarValue<Kind extends ScalarKind> = ScalarValues[Kind];

export type ResultType = { readonly kind: ScalarKind } | { readonly kind: "list"; readonly items: ResultType };

/** Values of one column, by row. */
export type ColumnValues = ScalarColumnValues<ScalarKind> | ListColumnValues;

export type ScalarColumnValues<Kind extends ScalarKind> = {
  [K in Kind]: { readonly kind: K; readonly values: readonly (ScalarValue<K> | null)[] };
}[Kind];

/** Lists have their items in `items`, one list after the other. */
export interface ListColumnValues {
  readonly kind: "list";
  readonly values: readonly (ItemRange | null)[];
  readonly items: ColumnValues;
}

/** Places of the items of a list, `end` exclusive. */
export interface ItemRange {
  readonly start: number;
  readonly end: number;
}

export interface ResultColumn {
  readonly name: string;
  readonly type: ResultType;
}

export interface ResultBatch {
  readonly rowCount: number;
  readonly columns: readonly ColumnValues[];
}

export interface ResultRows {
  readonly columns: readonly ResultColumn[];
  /** Can be iterated once; rejects with the reason of an aborted signal. */
  readonly batches: AsyncIterable<ResultBatch>;
}
