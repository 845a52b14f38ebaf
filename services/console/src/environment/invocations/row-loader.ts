/**
 * Of a hundred thousand listed rows some forty are visible; those are read by id, a little ahead of the window, cached within a bound, and
 * read again while they are visible. Rows that pass by during a fast scroll are not requested, or their request is cancelled.
 */
import { BoundedCache } from "@perdure/base/bounded-cache";
import { ROWS_AT_ONCE, ROWS_KEPT } from "./limits.js";
import type { InvocationListRow } from "./row.js";

interface RowLoaderPorts {
  /** Invocations that exist, in any order. */
  readonly readRows: (ids: readonly string[], signal: AbortSignal) => Promise<readonly InvocationListRow[]>;
  /** Something can be shown that could not be shown before, or differently. */
  readonly onChange: () => void;
}

interface InFlightRead {
  readonly ids: ReadonlySet<string>;
  readonly stop: AbortController;
}

export class RowLoader {
  readonly #ports: RowLoaderPorts;
  /** null: there is no such invocation any more. The one that was read longest ago comes first. */
  readonly #rows = new BoundedCache<string, InvocationListRow | null>({ entriesMax: ROWS_KEPT });
  readonly #inFlightReads = new Set<InFlightRead>();
  #problem: unknown;
  #version = 0;

  constructor(ports: RowLoaderPorts) {
    this.#ports = ports;
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** Why the last request failed; undefined when it did not. */
  get problem(): unknown {
    return this.#problem;
  }

  /** undefined: not loaded yet; null: deleted. */
  get(id: string): InvocationListRow | null | undefined {
    return this.#rows.peek(id);
  }

  /** Loads these rows; requests for other rows are cancelled. */
  load(ids: readonly string[]): void {
    const requestedIds = new Set(ids);
    for (const read of this.#inFlightReads) {
      if (![...read.ids].some((id) => requestedIds.has(id))) {
        this.#inFlightReads.delete(read);
        read.stop.abort();
      }
    }
    const missing = ids.filter((id) => !this.#rows.has(id) && ![...this.#inFlightReads].some((read) => read.ids.has(id)));
    for (let from = 0; from < missing.length; from += ROWS_AT_ONCE) void this.#read(missing.slice(from, from + ROWS_AT_ONCE));
  }

  /** Reads these again, although they are cached. Resolves when that is done, or has failed. */
  async refresh(ids: readonly string[]): Promise<void> {
    const reads: Promise<void>[] = [];
    for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) reads.push(this.#read(ids.slice(from, from + ROWS_AT_ONCE)));
    await Promise.all(reads);
  }

  close(): void {
    for (const { stop } of this.#inFlightReads) stop.abort();
    this.#inFlightReads.clear();
  }

  async #read(ids: readonly string[]): Promise<void> {
    const read = { ids: new Set(ids), stop: new AbortController() };
    this.#inFlightReads.add(read);
    try {
      this.#keep(ids, await this.#ports.readRows(ids, read.stop.signal));
      this.#problem = undefined;
    } catch (cause) {
      if (read.stop.signal.aborted) return;
      this.#problem = cause;
    } finally {
      this.#inFlightReads.delete(read);
    }
    this.#version++;
    this.#ports.onChange();
  }

  #keep(ids: readonly string[], rows: readonly InvocationListRow[]): void {
    for (const id of ids) this.#rows.set(id, null);
    for (const row of rows) this.#rows.set(row.id, row);
  }
}
