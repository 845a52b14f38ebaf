/**
 * Keeps completed invocations from statement to statement. They are most of what a server stores and hardly change, and reading them from
 * the store takes most of the time of a statement. The first statement that reads them all fills the cache; each later one reads what
 * changed since, as its own snapshot of the store has it.
 */
import { utf8 } from "@perdure/base";
import { type KeyValue, parseInvocationKey } from "@perdure/storage";
import { COMPLETED_KEYS_AT_ONCE } from "../limits.js";
import type { LiveRows } from "../ports.js";
import { CompletedRows } from "./rows.js";

/** Collects the rows of a snapshot for the cache, while a statement reads them. */
export interface CompletedFill {
  add(rows: readonly Uint8Array[]): void;
  /** Called when all completed invocations of the snapshot were added. */
  finish(): void;
}

/** The cache as one statement uses it. */
export interface CompletedView {
  readonly bytesMax: number;
  /** The completed invocations of the snapshot; undefined when they have to be read from it. Rejects with the errors of the store. */
  rows(): Promise<CompletedRows | undefined>;
  /** Undefined when the cache is not to be filled. */
  fill(): CompletedFill | undefined;
}

export interface CompletedMoment {
  /** A position in the record of changes, requested before the snapshot was taken. */
  readonly changesAt: number;
  readonly snapshot: Pick<KeyValue, "getMany">;
  readonly live: Pick<LiveRows, "completedChanges">;
}

export class CompletedCache {
  readonly #bytesMax: number;
  #kept: { readonly rows: CompletedRows; readonly changesAt: number } | undefined;
  /** Set for good when the rows exceed the bound. */
  #isTooLarge = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** One view at a time may be in use. */
  view(moment: CompletedMoment): CompletedView {
    let rows: Promise<CompletedRows | undefined> | undefined;
    return {
      bytesMax: this.#bytesMax,
      rows: () => {
        rows ??= this.#caughtUp(moment);
        return rows;
      },
      fill: () => (this.#isTooLarge || this.#bytesMax === 0 ? undefined : this.#fill(moment)),
    };
  }

  #fill({ changesAt }: CompletedMoment): CompletedFill {
    const rows = new CompletedRows();
    return {
      add: (stored) => {
        if (this.#isTooLarge) return;
        for (const row of stored) rows.append(row);
        this.#isTooLarge = rows.bytes > this.#bytesMax;
      },
      finish: () => {
        if (!this.#isTooLarge) this.#kept = { rows, changesAt };
      },
    };
  }

  async #caughtUp({ changesAt, snapshot, live }: CompletedMoment): Promise<CompletedRows | undefined> {
    const kept = this.#kept;
    if (kept === undefined) return undefined;
    this.#kept = undefined; // A failure below leaves rows of two moments.
    await snapshot.getMany([]); // The changes are requested when the snapshot has certainly been taken.
    const changed = new Set<string>();
    for await (const key of live.completedChanges(kept.changesAt)) {
      if (key === null) return undefined;
      changed.add(key);
    }
    const rows = kept.rows.hasManyDead ? kept.rows.compacted() : kept.rows;
    const keys = [...changed];
    for (let from = 0; from < keys.length; from += COMPLETED_KEYS_AT_ONCE)
      await update(rows, keys.slice(from, from + COMPLETED_KEYS_AT_ONCE), snapshot);
    if (rows.bytes > this.#bytesMax) rows.dropColumns();
    this.#isTooLarge = rows.bytes > this.#bytesMax;
    if (this.#isTooLarge) return undefined;
    this.#kept = { rows, changesAt };
    return rows;
  }
}

/** Replaces the rows of some keys by those of the snapshot. */
async function update(rows: CompletedRows, keys: readonly string[], snapshot: Pick<KeyValue, "getMany">): Promise<void> {
  const stored = await snapshot.getMany(keys, { firstParts: true });
  for (const [n, key] of keys.entries()) {
    rows.remove(utf8(parseInvocationKey(key)));
    const row = stored[n];
    if (row !== undefined) rows.append(row);
  }
}
