/** Why: in the thread, rows of what only the process knows come over the port, a page at a time, and only when a table reads them. */
import { invariant } from "@perdure/base";
import { LIVE_METHODS } from "../live.js";
import type { LiveRows } from "../ports.js";
import type { FromThread, ToThread } from "./messages.js";

type Page = ToThread & { readonly kind: "rows" | "askFailed" };

export class LiveAsker {
  readonly rows: LiveRows;
  readonly #send: (message: FromThread) => void;
  /** Who waits for the next page, by question. */
  readonly #waiting = new Map<number, (page: Page) => void>();
  #asked = 0;

  constructor(send: (message: FromThread) => void) {
    this.#send = send;
    const methods = Object.keys(LIVE_METHODS) as (keyof LiveRows)[];
    this.rows = Object.fromEntries(
      methods.map((method) => [method, (...args: readonly unknown[]) => this.#ask(method, args)]),
    ) as unknown as LiveRows;
  }

  /** A page that came. */
  receive(page: Page): void {
    const resolve = this.#waiting.get(page.ask);
    this.#waiting.delete(page.ask);
    resolve?.(page); // Nobody waits when the statement ended meanwhile.
  }

  async *#ask(method: keyof LiveRows, args: readonly unknown[]): AsyncIterable<unknown> {
    const ask = ++this.#asked;
    let next = this.#page(ask, { kind: "ask", ask, method, args });
    let isOver = false;
    try {
      for (;;) {
        const page = await next;
        if (page.kind === "askFailed") {
          isOver = true;
          throw new Error(`${method} could not be read: ${page.message}`);
        }
        isOver = page.isLast;
        if (!isOver) next = this.#page(ask, { kind: "askMore", ask });
        yield* page.rows;
        if (isOver) return;
      }
    } finally {
      this.#waiting.delete(ask);
      if (!isOver) this.#send({ kind: "askEnd", ask });
    }
  }

  #page(ask: number, message: FromThread): Promise<Page> {
    invariant(!this.#waiting.has(ask), "a question waits for one page at a time");
    const { promise, resolve } = Promise.withResolvers<Page>();
    this.#waiting.set(ask, resolve);
    this.#send(message);
    return promise;
  }
}
