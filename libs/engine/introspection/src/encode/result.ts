/**
 * The rows that both encodings read. The engine has more and other types than clients support, so this is a small set of types
 * (introspection-sql.md §5.3).
 */

/**
 * A column's type and the JavaScript form of its values: `instant` bigint ms since 1970 · `wallTime` bigint ns since 1970, without
 * zone · `date` days since 1970 · `duration` bigint ms · 64-bit integers bigint, smaller ones number.
 */
export type ResultType = { readonly kind: ScalarKind } | { readonly kind: "list"; readonly items: ResultType };

type ScalarKind =
  | "bool"
  | "uint32"
  | "int64"
  | "uint64"
  | "float64"
  | "text"
  | "bytes"
  | "instant"
  | "wallTime"
  | "date"
  | "duration"
  | "null";

export type CellValue = boolean | number | bigint | string | Uint8Array | readonly CellValue[] | null;

export interface ResultColumn {
  readonly name: string;
  readonly type: ResultType;
}

export interface ResultBatch {
  readonly rowCount: number;
  /** Values by column, then row. */
  readonly values: readonly (readonly CellValue[])[];
}

export interface ResultRows {
  readonly columns: readonly ResultColumn[];
  /** Can be iterated once; rejects with the reason of an aborted signal. */
  readonly batches: AsyncIterable<ResultBatch>;
}
