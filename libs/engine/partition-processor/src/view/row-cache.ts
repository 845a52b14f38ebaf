/**
 * Serves the reads of a leader whose store is behind a network from rows fetched before, kept as long as they are useful. Rows are as
 * new as the last durable commit, because every write of the partition passes through its leader. Reading a row that is not cached
 * throws `MissingRow`; the processor fetches it and applies the command again.
 */
import type { InvocationId } from "@perdure/base";
import type {
  InboxEntry,
  Invocation,
  JournalEntry,
  Mutation,
  ObjectLock,
  TimerKey,
  WorkflowPromise,
} from "@perdure/state-machine";
import { type BatchedReads, type FetchedRow, type RowKey, type RowValues, rowName, type SyncReads } from "@perdure/storage";
import { CACHED_ROWS_MAX } from "../limits.js";

/** A read of a row that is not cached. */
export class MissingRow extends Error {
  readonly key: RowKey;
  constructor(key: RowKey) {
    super(`needs ${rowName(key)}`);
    this.key = key;
  }
}

/** The value of a key, in an object because absent rows are cached too. */
interface Kept {
  readonly value: unknown;
}

export class RowCache implements SyncReads {
  readonly #partition: number;
  readonly #store: BatchedReads;
  /**
   * Rows that were used since the last change of generation; when they are many they become the old ones, and the former old ones are
   * dropped.
   */
  #young = new Map<string, Kept>();
  #old: ReadonlyMap<string, Kept> = new Map();
  /** Rows of archived invocations, for the commands that are being applied to them. */
  readonly #shown = new Map<string, Kept>();
  /** Fetches under way, each with the rows that were written meanwhile: their fetched values are outdated. */
  readonly #fetches = new Set<Set<string>>();

  constructor(partition: number, store: BatchedReads) {
    this.#partition = partition;
    this.#store = store;
  }

  has(key: RowKey): boolean {
    const name = rowName(key);
    return this.#young.has(name) || this.#old.has(name) || this.#shown.has(name);
  }

  /** Does not count as a use; undefined also when the row is not cached. */
  peekInvocation(id: InvocationId): Invocation | undefined {
    const name = rowName({ kind: "invocation", id });
    return (this.#shown.get(name) ?? this.#young.get(name) ?? this.#old.get(name))?.value as Invocation | undefined;
  }

  /** Makes the invocation readable as if the store had it, until it is hidden or a row of it is written. */
  show(invocation: Invocation, entries: readonly JournalEntry[]): void {
    const { id } = invocation.facts;
    this.#shown.set(rowName({ kind: "invocation", id }), { value: invocation });
    for (const [index, entry] of entries.entries()) this.#shown.set(rowName({ kind: "entry", id, index }), { value: entry });
  }

  hide(id: InvocationId, entryCount: number): void {
    this.#shown.delete(rowName({ kind: "invocation", id }));
    for (let index = 0; index < entryCount; index++) this.#shown.delete(rowName({ kind: "entry", id, index }));
  }

  /** Resolves when the rows are cached. Rejects with STO0001. */
  async fetch(keys: readonly RowKey[]): Promise<void> {
    const written = new Set<string>();
    this.#fetches.add(written);
    try {
      for (const row of await this.#store.fetch(this.#partition, keys)) this.#take(row, written);
    } finally {
      this.#fetches.delete(written);
    }
  }

  /** These mutations are durable. Between two commits no row is dropped: a command may need more rows than are kept. */
  applyDurable(mutations: readonly Mutation[]): void {
    for (const mutation of mutations) this.#write(mutation);
    if (this.#young.size <= CACHED_ROWS_MAX / 2) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  // ── SyncReads ──────────────────────────────────────────────────────────────────────────────────

  invocation(_partition: number, id: InvocationId): Invocation | undefined {
    return this.#read({ kind: "invocation", id });
  }
  entry(_partition: number, id: InvocationId, index: number): JournalEntry | undefined {
    return this.#read({ kind: "entry", id, index });
  }
  lock(_partition: number, service: string, key: string): ObjectLock | undefined {
    return this.#read({ kind: "lock", service, key });
  }
  inbox(_partition: number, service: string, key: string, seq: number): InboxEntry | undefined {
    return this.#read({ kind: "inbox", service, key, seq });
  }
  state(_partition: number, service: string, key: string, stateKey: string): Uint8Array | undefined {
    return this.#read({ kind: "state", service, key, stateKey });
  }
  promise(_partition: number, service: string, key: string, name: string): WorkflowPromise | undefined {
    return this.#read({ kind: "promise", service, key, name });
  }
  hasTimer(_partition: number, timer: TimerKey): boolean {
    return this.#read({ kind: "hasTimer", timer });
  }
  dedup(_partition: number, producer: string): number | undefined {
    return this.#read({ kind: "dedup", producer });
  }

  #read<K extends RowKey["kind"]>(key: RowKey & { readonly kind: K }): RowValues[K] {
    const name = rowName(key);
    const shown = this.#shown.size === 0 ? undefined : this.#shown.get(name);
    if (shown !== undefined) return shown.value as RowValues[K];
    const young = this.#young.get(name);
    if (young !== undefined) return young.value as RowValues[K];
    const old = this.#old.get(name);
    if (old === undefined) throw new MissingRow(key);
    this.#young.set(name, old);
    return old.value as RowValues[K];
  }

  // ── cached rows ────────────────────────────────────────────────────────────────────────────────

  /** Collections are cached as their single rows. */
  #take(row: FetchedRow, written: ReadonlySet<string>): void {
    const keep = (key: RowKey, value: unknown): void => {
      const name = rowName(key);
      if (!written.has(name)) this.#young.set(name, { value });
    };
    switch (row.kind) {
      case "journal":
        for (const [index, entry] of row.value.entries()) keep({ kind: "entry", id: row.id, index }, entry);
        return;
      case "stateOf":
        for (const [stateKey, value] of row.value) keep({ kind: "state", service: row.service, key: row.key, stateKey }, value);
        return;
      case "promisesOf":
        for (const [name, value] of row.value) keep({ kind: "promise", service: row.service, key: row.key, name }, value);
        return;
      default:
        return keep(row, row.value);
    }
  }

  #write(mutation: Mutation): void {
    switch (mutation.kind) {
      case "putInvocation":
        return this.#replace({ kind: "invocation", id: mutation.invocation.facts.id }, mutation.invocation);
      case "deleteInvocation":
        return this.#replace({ kind: "invocation", id: mutation.id }, undefined);
      case "appendEntry":
        return this.#replace({ kind: "entry", id: mutation.id, index: mutation.index }, mutation.entry);
      case "deleteJournal":
        for (let index = 0; index < mutation.length; index++) this.#replace({ kind: "entry", id: mutation.id, index }, undefined);
        return;
      case "putLock":
        return this.#replace({ kind: "lock", service: mutation.service, key: mutation.key }, mutation.lock);
      case "deleteLock":
        return this.#replace({ kind: "lock", service: mutation.service, key: mutation.key }, undefined);
      case "putInbox":
      case "deleteInbox": {
        const { service, key, seq } = mutation;
        return this.#replace({ kind: "inbox", service, key, seq }, mutation.kind === "putInbox" ? mutation.entry : undefined);
      }
      case "putState":
      case "deleteState": {
        const { service, key, stateKey } = mutation;
        const value = mutation.kind === "putState" ? mutation.value : undefined;
        return this.#replace({ kind: "state", service, key, stateKey }, value);
      }
      case "putPromise":
      case "deletePromise": {
        const { service, key, name } = mutation;
        const value = mutation.kind === "putPromise" ? mutation.promise : undefined;
        return this.#replace({ kind: "promise", service, key, name }, value);
      }
      case "putTimer":
        return this.#replace({ kind: "hasTimer", timer: mutation.timer }, true);
      case "deleteTimer":
        return this.#replace({ kind: "hasTimer", timer: mutation.timer }, false);
      case "putDedup":
        return this.#replace({ kind: "dedup", producer: mutation.producer }, mutation.seq);
      default:
        return; // Transitions never read these rows.
    }
  }

  /** Rows that are read again soon are always cached; others only replace an older cached value. */
  #replace(key: RowKey, value: unknown): void {
    const name = rowName(key);
    for (const written of this.#fetches) written.add(name);
    if (this.#shown.size > 0) this.#shown.delete(name);
    if (READ_AGAIN.has(key.kind) || this.#young.has(name) || this.#old.has(name)) this.#young.set(name, { value });
  }
}

/**
 * Rows that the next command for the same key or invocation reads first. Entries and state of a journal are read by the invoker
 * instead.
 */
const READ_AGAIN: ReadonlySet<RowKey["kind"]> = new Set(["invocation", "lock", "inbox", "promise", "hasTimer", "dedup"]);
