/**
 * Why: of a hundred thousand listed rows some forty are seen; those are read by id, a little ahead of the eye, remembered within a
 * bound, and looked at again while they are visible. What flits by on the way to elsewhere is not asked for, or given up.
 */
import { ROWS_AT_ONCE, ROWS_KEPT } from "./limits.js";
import type { InvocationRow } from "./row.js";

export interface RowLoaderPorts {
  /** Those that exist, in any order. */
  readonly ask: (ids: readonly string[], signal: AbortSignal) => Promise<readonly InvocationRow[]>;
  /** Something can be shown that could not be shown before, or differently. */
  readonly onChange: () => void;
}

interface Asking {
  readonly ids: ReadonlySet<string>;
  readonly stop: AbortController;
}

export class RowLoader {
  readonly #ports: RowLoaderPorts;
  /** null: there is no such invocation any more. The one that was read longest ago comes first. */
  readonly #rows = new Map<string, InvocationRow | null>();
  readonly #asking = new Set<Asking>();
  #problem: unknown;
  #version = 0;

  constructor(ports: RowLoaderPorts) {
    this.#ports = ports;
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** Why the last look failed; undefined when it did not. */
  get problem(): unknown {
    return this.#problem;
  }

  /** undefined: not known yet; null: it is gone. */
  get(id: string): InvocationRow | null | undefined {
    return this.#rows.get(id);
  }

  /** These are wanted now; what is being asked for others is given up. */
  want(ids: readonly string[]): void {
    const wanted = new Set(ids);
    for (const asking of this.#asking) {
      if (![...asking.ids].some((id) => wanted.has(id))) {
        this.#asking.delete(asking);
        asking.stop.abort();
      }
    }
    const missing = ids.filter((id) => !this.#rows.has(id) && ![...this.#asking].some((asking) => asking.ids.has(id)));
    for (let from = 0; from < missing.length; from += ROWS_AT_ONCE) void this.#read(missing.slice(from, from + ROWS_AT_ONCE));
  }

  /** Reads these again, although they are known. Resolves when that is done, or has failed. */
  async refresh(ids: readonly string[]): Promise<void> {
    const reads: Promise<void>[] = [];
    for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) reads.push(this.#read(ids.slice(from, from + ROWS_AT_ONCE)));
    await Promise.all(reads);
  }

  close(): void {
    for (const { stop } of this.#asking) stop.abort();
    this.#asking.clear();
  }

  async #read(ids: readonly string[]): Promise<void> {
    const asking = { ids: new Set(ids), stop: new AbortController() };
    this.#asking.add(asking);
    try {
      this.#keep(ids, await this.#ports.ask(ids, asking.stop.signal));
      this.#problem = undefined;
    } catch (cause) {
      if (asking.stop.signal.aborted) return;
      this.#problem = cause;
    } finally {
      this.#asking.delete(asking);
    }
    this.#version++;
    this.#ports.onChange();
  }

  #keep(ids: readonly string[], rows: readonly InvocationRow[]): void {
    for (const id of ids) this.#put(id, null);
    for (const row of rows) this.#put(row.id, row);
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= ROWS_KEPT) break;
      this.#rows.delete(id);
    }
  }

  #put(id: string, row: InvocationRow | null): void {
    this.#rows.delete(id);
    this.#rows.set(id, row);
  }
}
