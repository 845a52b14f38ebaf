/**
 * All messages between the server and the process that runs its statements, which share no objects. Plain data, and everything that can
 * be long is sent in pieces that the receiver requests.
 */

import type { SqlEngineOptions } from "../options.js";
import type { LiveRows, SourceDescription, SqlFormat, SqlRefusal } from "../ports.js";

/** Start options of a process. */
export interface ProcessData {
  readonly source: SourceDescription;
  readonly options: SqlEngineOptions;
  /** Set for a store of kind `served`. */
  readonly store: StoreAddress | undefined;
}

/** Address of the thread of the server that serves its store, and the token that authorizes a process. */
export interface StoreAddress {
  readonly path: string;
  readonly token: string;
}

/** Reads that a process requests of the store that its server has open. The answer to `ranges` is a page for each `WholeRange`. */
export type StoreMethod = "getMany" | "scan" | "values" | "ranges";

/** Values that are requested with those of other ranges, in the hope that they are few: with their keys, or their first parts alone. */
export interface WholeRange {
  readonly from: string;
  readonly to: string;
  readonly form: "values" | "firstParts" | "withKeys";
}

export const NO_VALUE = 0xffff_ffff;

/** Values of a page, concatenated in `data`; `ends` has the end of each, `NO_VALUE` where a key has none. */
export interface PackedValues {
  readonly data: Uint8Array;
  readonly ends: Uint32Array;
}

export type StorePage = PackedValues & {
  /** Key of each value; only in the pages of a `scan`, and of ranges with keys. */
  readonly keys?: readonly string[];
};

/** `query` numbers statements, `ask` the reads that a process requests while it runs them, `snapshot` its views of the store. */
export type ToProcess =
  | { readonly kind: "start"; readonly data: ProcessData }
  | {
      readonly kind: "query";
      readonly query: number;
      readonly text: string;
      readonly format: SqlFormat;
      /** Position in the record of changed completed invocations; undefined where there is none. */
      readonly changesAt?: number | undefined;
    }
  /** One more chunk may be sent. */
  | { readonly kind: "more"; readonly query: number }
  /** The client does not wait for the statement any more. The statement still ends with `end`, `failed` or `refused`. */
  | { readonly kind: "cancel"; readonly query: number }
  /** Some of the requested rows, or `StorePage`s. `isLast`: no more follow. */
  | { readonly kind: "rows"; readonly requestId: number; readonly rows: readonly unknown[]; readonly isLast: boolean }
  | { readonly kind: "requestFailed"; readonly requestId: number; readonly message: string };

export type FromProcess =
  | { readonly kind: "refused"; readonly query: number; readonly refusal: SqlRefusal }
  | { readonly kind: "answer"; readonly query: number; readonly contentType: string }
  | { readonly kind: "chunk"; readonly query: number; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly query: number }
  | { readonly kind: "failed"; readonly query: number; readonly message: string }
  | {
      readonly kind: "requestRows";
      readonly requestId: number;
      readonly method: keyof LiveRows;
      readonly args: readonly unknown[];
    }
  | {
      readonly kind: "read";
      readonly requestId: number;
      readonly snapshot: number;
      readonly method: StoreMethod;
      readonly args: readonly unknown[];
    }
  | { readonly kind: "requestMore"; readonly requestId: number }
  | { readonly kind: "endRequest"; readonly requestId: number }
  /** A view of what is committed now; reads name it until it is released. */
  | { readonly kind: "snapshot"; readonly snapshot: number }
  | { readonly kind: "release"; readonly snapshot: number }
  /** A failure of the engine, for the server's log. */
  | { readonly kind: "engineError"; readonly what: string; readonly stack: string };
