/** The statement process's side of row requests: requests rows of its server, a page at a time, and only when a table reads them. */
import { invariant } from "@perdure/base";
import { LIVE_METHODS } from "../live.js";
import type { LiveRows } from "../ports.js";
import type { FromProcess, ToProcess } from "./messages.js";

type PageMessage = ToProcess & { readonly kind: "rows" | "requestFailed" };
type PageRequest = FromProcess & { readonly kind: "requestRows" | "read" };

/** The rows themselves come from the server of this process, of the same build. */
function hasLiveMethods(rows: object): rows is LiveRows {
  return Object.keys(LIVE_METHODS).every((method) => typeof Reflect.get(rows, method) === "function");
}

export class PageRequester {
  readonly rows: LiveRows;
  readonly #send: (message: FromProcess) => void;
  /** Resolvers of the next page, by request. */
  readonly #waiting = new Map<number, (page: PageMessage) => void>();
  #last = 0;

  constructor(send: (message: FromProcess) => void) {
    this.#send = send;
    const methods = Object.keys(LIVE_METHODS) as (keyof LiveRows)[];
    const rows = Object.fromEntries(methods.map((method) => [method, (...args: readonly unknown[]) => this.#rows(method, args)]));
    invariant(hasLiveMethods(rows), "each method of the live rows is requested from the server");
    this.rows = rows;
  }

  /** Passes a received page to its reader. */
  receive(page: PageMessage): void {
    const resolve = this.#waiting.get(page.requestId);
    this.#waiting.delete(page.requestId);
    resolve?.(page); // No reader is left when the statement ended before.
  }

  async *#rows(method: keyof LiveRows, args: readonly unknown[]): AsyncIterable<unknown> {
    for await (const page of this.pages((requestId) => ({ kind: "requestRows", requestId, method, args }))) yield* page;
  }

  /** The next page is requested while the current one is read. */
  async *pages(numbered: (requestId: number) => PageRequest): AsyncIterable<readonly unknown[]> {
    const requestId = ++this.#last;
    const request = numbered(requestId);
    let next = this.#page(requestId, request);
    let isOver = false;
    try {
      for (;;) {
        const page = await next;
        if (page.kind === "requestFailed") {
          isOver = true;
          throw new Error(`${request.method} could not be read: ${page.message}`);
        }
        isOver = page.isLast;
        if (!isOver) next = this.#page(requestId, { kind: "requestMore", requestId });
        yield page.rows;
        if (isOver) return;
      }
    } finally {
      this.#waiting.delete(requestId);
      if (!isOver) this.#send({ kind: "endRequest", requestId });
    }
  }

  #page(requestId: number, message: FromProcess): Promise<PageMessage> {
    invariant(!this.#waiting.has(requestId), "a request waits for one page at a time");
    const { promise, resolve } = Promise.withResolvers<PageMessage>();
    this.#waiting.set(requestId, resolve);
    this.#send(message);
    return promise;
  }
}
