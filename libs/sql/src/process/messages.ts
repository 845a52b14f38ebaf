/**
 * Why: the server and the process that runs its statements share no objects; this is all they send each other. Plain data, and
 * everything that can be long goes in pieces that the receiver requests.
 */

import type { SqlEngineOptions } from "../options.js";
import type { LiveRows, SourceDescription, SqlAnswer, SqlFormat } from "../ports.js";

/** What a process is started with. */
export interface ProcessData {
  readonly source: SourceDescription;
  readonly options: SqlEngineOptions;
  /** Of a store that is `served`. */
  readonly store: StoreAddress | undefined;
}

/** Where a thread of the server serves its store, and what lets a process in. */
export interface StoreAddress {
  readonly path: string;
  readonly token: string;
}

export type SqlRefusal = SqlAnswer & { readonly kind: "refused" };

/** Reads that a process requests of the store that its server has open. */
export type StoreMethod = "getMany" | "scan" | "values";

export const NO_VALUE = 0xffff_ffff;

/** Values of a page, one after the other in `data`; `ends` says where each ends, `NO_VALUE` where a key has none. */
export interface PackedValues {
  readonly data: Uint8Array;
  readonly ends: Uint32Array;
}

export type StorePage = PackedValues & {
  /** Of a `scan`: the key of each value. */
  readonly keys?: readonly string[];
};

/** `query` numbers statements, `ask` the reads that a process requests while it runs them, `snapshot` its views of the store. */
export type ToProcess =
  | { readonly kind: "start"; readonly data: ProcessData }
  | { readonly kind: "query"; readonly query: number; readonly text: string; readonly format: SqlFormat }
  /** One more chunk may be sent. */
  | { readonly kind: "more"; readonly query: number }
  /** The client does not wait for it any more. It still ends with `end`, `failed` or `refused`. */
  | { readonly kind: "cancel"; readonly query: number }
  /** Some of the rows requested, or `StorePage`s. `isLast`: there are no more. */
  | { readonly kind: "rows"; readonly requestId: number; readonly rows: readonly unknown[]; readonly isLast: boolean }
  | { readonly kind: "askFailed"; readonly requestId: number; readonly message: string };

export type FromProcess =
  | { readonly kind: "refused"; readonly query: number; readonly refusal: SqlRefusal }
  | { readonly kind: "answer"; readonly query: number; readonly contentType: string }
  | { readonly kind: "chunk"; readonly query: number; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly query: number }
  | { readonly kind: "failed"; readonly query: number; readonly message: string }
  | { readonly kind: "ask"; readonly requestId: number; readonly method: keyof LiveRows; readonly args: readonly unknown[] }
  | {
      readonly kind: "read";
      readonly requestId: number;
      readonly snapshot: number;
      readonly method: StoreMethod;
      readonly args: readonly unknown[];
    }
  | { readonly kind: "askMore"; readonly requestId: number }
  | { readonly kind: "askEnd"; readonly requestId: number }
  /** A view of what is committed now; reads name it until it is released. */
  | { readonly kind: "snapshot"; readonly snapshot: number }
  | { readonly kind: "release"; readonly snapshot: number }
  /** A failure that is the engine's, for the server's log. */
  | { readonly kind: "engineError"; readonly what: string; readonly stack: string };
