/**
 * Why: the process and the thread that runs its statements share no objects; this is all they say to each other. Plain data, and
 * everything that can be long goes in pieces that the receiver asks for.
 */

import type { SqlEngineOptions } from "../options.js";
import type { LiveRows, SourceDescription, SqlAnswer, SqlFormat } from "../ports.js";

/** What a thread is started with. */
export interface ThreadData {
  readonly source: SourceDescription;
  readonly options: SqlEngineOptions;
}

export type Refusal = SqlAnswer & { readonly kind: "refused" };

/** `query` numbers statements, `ask` the questions a thread has while it runs them. */
export type ToThread =
  | { readonly kind: "query"; readonly query: number; readonly text: string; readonly format: SqlFormat }
  /** One more chunk may be sent. */
  | { readonly kind: "more"; readonly query: number }
  /** Nobody waits for it any more. It still ends with `end`, `failed` or `refused`. */
  | { readonly kind: "cancel"; readonly query: number }
  /** Some of the rows asked for. `isLast`: there are no more. */
  | { readonly kind: "rows"; readonly ask: number; readonly rows: readonly unknown[]; readonly isLast: boolean }
  | { readonly kind: "askFailed"; readonly ask: number; readonly message: string }
  /** End everything, let go of the store, exit. */
  | { readonly kind: "close" };

export type FromThread =
  | { readonly kind: "refused"; readonly query: number; readonly refusal: Refusal }
  | { readonly kind: "answer"; readonly query: number; readonly contentType: string }
  /** The bytes are the receiver's. */
  | { readonly kind: "chunk"; readonly query: number; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly query: number }
  | { readonly kind: "failed"; readonly query: number; readonly message: string }
  | { readonly kind: "ask"; readonly ask: number; readonly method: keyof LiveRows; readonly args: readonly unknown[] }
  | { readonly kind: "askMore"; readonly ask: number }
  | { readonly kind: "askEnd"; readonly ask: number }
  /** A failure that is ours, for the process's log. */
  | { readonly kind: "trouble"; readonly what: string; readonly stack: string };
