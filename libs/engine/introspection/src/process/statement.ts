/** Delivers the result of a statement to its client: first a response, then its chunks, whatever happens to the process that runs it. */
import { unreachable } from "@perdure/base";
import { refused } from "../errors.js";
import type { SqlAnswer, SqlRefusal } from "../ports.js";
import type { FromProcess } from "./messages.js";

interface StatementHandlers {
  readonly more: () => void;
  readonly cancel: () => void;
  readonly signal: AbortSignal;
}

type StatementEvent = FromProcess & { readonly kind: "refused" | "answer" | "chunk" | "end" | "failed" };

export class RemoteStatement {
  readonly #parts: StatementHandlers;
  readonly #answer = Promise.withResolvers<SqlAnswer>();
  /** Received chunks that were not read. The process sends no more of them than it was allowed. */
  readonly #chunks: Uint8Array[] = [];
  #ended: { readonly failure: Error | undefined } | undefined;
  #wake: (() => void) | undefined;
  readonly #onAbort = (): void => this.cancel();

  constructor(parts: StatementHandlers) {
    this.#parts = parts;
    parts.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  get answer(): Promise<SqlAnswer> {
    return this.#answer.promise;
  }

  receive(message: StatementEvent): void {
    switch (message.kind) {
      case "refused":
        this.#resolve(message.refusal);
        return;
      case "answer":
        this.#answer.resolve({ kind: "rows", contentType: message.contentType, chunks: this.#read() });
        return;
      case "chunk":
        this.#chunks.push(message.bytes);
        this.#wake?.();
        return;
      case "end":
        return this.#end(undefined);
      case "failed":
        return this.#end(new Error(message.message));
      default:
        return unreachable(message);
    }
  }

  /** The client no longer waits; the process ends the statement. */
  cancel(): void {
    this.#parts.cancel();
    this.lose(refused("unavailable", "the query was cancelled"));
  }

  /** The process has ended, or the statement was lost with it. */
  lose(refusal: SqlRefusal): void {
    this.#resolve(refusal);
    this.#end(new Error(refusal.message));
  }

  #resolve(answer: SqlAnswer): void {
    this.#answer.resolve(answer);
    this.#parts.signal.removeEventListener("abort", this.#onAbort);
  }

  #end(failure: Error | undefined): void {
    this.#ended ??= { failure };
    this.#parts.signal.removeEventListener("abort", this.#onAbort);
    this.#wake?.();
  }

  async *#read(): AsyncIterable<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift(); // At most `CHUNKS_AHEAD` are queued.
        if (chunk !== undefined) {
          yield chunk;
          this.#parts.more();
        } else if (this.#ended !== undefined) {
          if (this.#ended.failure !== undefined) throw this.#ended.failure;
          return;
        } else {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.#wake = resolve;
          await promise;
          this.#wake = undefined;
        }
      }
    } finally {
      if (this.#ended === undefined) this.cancel(); // A client that stops reading needs no more chunks.
    }
  }
}
