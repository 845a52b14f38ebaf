/** Why: the process answers what its thread asks of its memory: a small page in one turn of the event loop, the next when asked. */

import { LIVE_PAGE_ROWS } from "../limits.js";
import { LIVE_METHODS } from "../live.js";
import type { LiveRows, Rows } from "../ports.js";
import type { FromThread, ToThread } from "./messages.js";

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

export class LiveAnswerer {
  readonly #live: LiveRows;
  readonly #send: (message: ToThread) => void;
  /** Questions with rows left. The thread has a few for each statement that runs. */
  readonly #open = new Map<number, AnyIterator>();

  constructor(live: LiveRows, send: (message: ToThread) => void) {
    this.#live = live;
    this.#send = send;
  }

  /** Never rejects: what goes wrong is answered. */
  async receive(message: FromThread & { readonly kind: "ask" | "askMore" | "askEnd" }): Promise<void> {
    const { ask } = message;
    try {
      if (message.kind === "askEnd") return await this.#end(ask);
      if (message.kind === "ask") this.#open.set(ask, this.#iterate(message.method, message.args));
      await this.#page(ask);
    } catch (cause) {
      this.#open.delete(ask);
      this.#send({ kind: "askFailed", ask, message: cause instanceof Error ? cause.message : String(cause) });
    }
  }

  #iterate(method: keyof LiveRows, args: readonly unknown[]): AnyIterator {
    if (LIVE_METHODS[method] !== true) throw new Error(`there are no live rows called ${method}`);
    const read = this.#live[method] as (...args: readonly unknown[]) => Rows<unknown>;
    const rows = read.apply(this.#live, [...args]);
    return Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  }

  async #page(ask: number): Promise<void> {
    const iterator = this.#open.get(ask);
    if (iterator === undefined) return; // Ended while this was on its way.
    const rows: unknown[] = [];
    let isLast = false;
    while (rows.length < LIVE_PAGE_ROWS && !isLast) {
      const step = iterator.next();
      const { done, value } = step instanceof Promise ? await step : step;
      if (done === true) isLast = true;
      else rows.push(value);
    }
    if (isLast) this.#open.delete(ask);
    this.#send({ kind: "rows", ask, rows, isLast });
  }

  async #end(ask: number): Promise<void> {
    const iterator = this.#open.get(ask);
    this.#open.delete(ask);
    await iterator?.return?.();
  }
}
