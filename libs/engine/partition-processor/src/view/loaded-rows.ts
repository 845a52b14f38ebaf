/** The rows of a partition that `NeedsLoad` requested: the last ones of each kind, because one command may need more than one kind. */
import type { InvocationId } from "@perdure/base";
import type { JournalEntry, LoadRequest } from "@perdure/state-machine";

/**
 * Rows of one `NeedsLoad`, which contain only the requested ones; a command that needs both kinds is loaded twice and must then have
 * both.
 */
export interface Loaded {
  readonly request: LoadRequest;
  readonly state: ReadonlyMap<string, Uint8Array>;
  readonly names: readonly string[];
  readonly entries: readonly JournalEntry[];
}

export class LoadedRows {
  /** Made with the first row, for the reason given at `Overlay`. */
  #byKind: Map<LoadRequest["kind"], Loaded> | undefined;

  add(loaded: Loaded): void {
    this.#byKind ??= new Map();
    this.#byKind.set(loaded.request.kind, loaded);
  }

  clear(): void {
    this.#byKind = undefined;
  }

  journalOf(id: InvocationId, length: number): readonly JournalEntry[] | undefined {
    const loaded = this.#byKind?.get("journalOf");
    if (loaded?.request.kind !== "journalOf") return undefined;
    return loaded.request.id === id && loaded.request.length === length ? loaded.entries : undefined;
  }

  stateOf(service: string, key: string): ReadonlyMap<string, Uint8Array> | undefined {
    return this.#rowsOf("stateOf", service, key)?.state;
  }

  promisesOf(service: string, key: string): readonly string[] | undefined {
    return this.#rowsOf("promisesOf", service, key)?.names;
  }

  #rowsOf(kind: "stateOf" | "promisesOf", service: string, key: string): Loaded | undefined {
    const loaded = this.#byKind?.get(kind);
    if (loaded === undefined || loaded.request.kind === "journalOf") return undefined;
    return loaded.request.service === service && loaded.request.key === key ? loaded : undefined;
  }
}
