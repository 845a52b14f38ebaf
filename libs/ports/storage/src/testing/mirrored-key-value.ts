/**
 * Caches decoded rows for simulation, which checks all rows of a partition thousands of times while few change between two checks. A
 * written row is decoded when the next check reads it, and kept until it is written again.
 */
import { fromUtf8, type InvocationId } from "@perdure/base";
import {
  decodeStateExpiry,
  type Invocation,
  type JournalEntry,
  type PartitionCommand,
  type PartitionSnapshot,
  type QueuePause,
  STATE_EXPIRY_ROW,
  STATE_TTL_SERVICE,
  type StateExpiry,
  THROTTLE_KEY_COUNT,
  type TimerKey,
} from "@perdure/state-machine";
import { decodeInvocation } from "../codec/invocation.js";
import { decodeOutboxCommand } from "../codec/message.js";
import { decodeEntry, decodeInbox, decodeLock, decodePause, decodePromise } from "../codec/rows.js";
import { MemoryKeyValue, type RowBytes } from "../kv/key-value.js";
import * as keys from "../kv/keys.js";
import type { InboxRow, LockRow, PromiseRow } from "../partition-store.js";

type Journal = (JournalEntry | undefined)[];

/** Decoded rows of a partition by their keys. */
class Rows {
  readonly unfinished = new Map<string, Invocation>();
  readonly completed = new Map<string, Invocation>();
  readonly journals = new Map<InvocationId, Journal>();
  readonly locks = new Map<string, LockRow>();
  readonly inboxes = new Map<string, InboxRow>();
  readonly promises = new Map<string, PromiseRow>();
  readonly timers = new Map<string, TimerKey>();
  readonly expiries = new Map<string, StateExpiry>();
  readonly throttleKeyCounts = new Map<string, number>();
  readonly outbox = new Map<string, PartitionCommand>();
  readonly pauses = new Map<string, QueuePause>();
  /** Invocations of which a row was written since the last snapshot. */
  #changedIds = new Set<InvocationId>();
  isChanged = true;

  snapshot(): PartitionSnapshot {
    const changedIds = this.#changedIds;
    this.#changedIds = new Set();
    return {
      invocations: [...this.unfinished.values(), ...this.completed.values()],
      journals: this.journals,
      locks: [...this.locks.values()],
      inboxes: [...this.inboxes.values()],
      promises: [...this.promises.values()],
      timers: [...this.timers.values()],
      expiries: [...this.expiries.values()],
      throttleKeyCounts: [...this.throttleKeyCounts.values()],
      pauses: [...this.pauses.values()],
      pendingCommands: [...this.outbox.values()],
      changedIds,
    };
  }

  /** Stores the present row of the key. */
  take(key: string, row: Uint8Array | undefined): void {
    this.isChanged = true;
    switch (key[2]) {
      case "i":
        this.#changedIds.add(keys.parseInvocationKey(key));
        return put(this.unfinished, key, row, decodeInvocation);
      case "c":
        this.#changedIds.add(keys.parseInvocationKey(key));
        return put(this.completed, key, row, decodeInvocation);
      case "j": {
        const entry = keys.parseEntryKey(key);
        this.#changedIds.add(entry.id);
        return this.#takeEntry(entry, row === undefined ? undefined : decodeEntry(row));
      }
      case "l":
        return put(this.locks, key, row, (bytes) => {
          const { service, key: objectKey } = keys.parseKeyed(key);
          return { service, key: objectKey, lock: decodeLock(bytes) };
        });
      case "q":
        return put(this.inboxes, key, row, (bytes) => {
          const { service, key: objectKey, rest } = keys.parseKeyed(key);
          return { service, key: objectKey, seq: keys.parseSeqRest(rest), entry: decodeInbox(bytes) };
        });
      case "p":
        return put(this.promises, key, row, (bytes) => {
          const { service, key: objectKey, rest } = keys.parseKeyed(key);
          return { service, key: objectKey, name: keys.parsePromiseRest(rest), promise: decodePromise(bytes) };
        });
      case "s": {
        if (key.startsWith(`${THROTTLE_KEY_COUNT.service}\0`, 3))
          return put(this.throttleKeyCounts, key, row, (bytes) => Number(fromUtf8(bytes)));
        if (!key.startsWith(`${STATE_TTL_SERVICE}\0`, 3)) return;
        if (keys.parseStateRest(keys.parseKeyed(key).rest) === STATE_EXPIRY_ROW) put(this.expiries, key, row, decodeStateExpiry);
        return;
      }
      case "t":
      case "x":
      case "r": {
        const timer = keys.parseTimerKey(key);
        this.#changedIds.add(timer.id);
        return put(this.timers, key, row, () => timer);
      }
      case "o":
        return put(this.outbox, key, row, decodeOutboxCommand);
      case "f":
        if (keys.parseFlowKey(key).kind === "pause") put(this.pauses, key, row, decodePause);
    }
  }

  #takeEntry({ id, index }: { readonly id: InvocationId; readonly index: number }, entry: JournalEntry | undefined): void {
    const journal = this.journals.get(id) ?? [];
    this.journals.set(id, journal);
    while (journal.length < index) journal.push(undefined);
    journal[index] = entry;
    while (journal.length > 0 && journal.at(-1) === undefined) journal.pop();
    if (journal.length === 0) this.journals.delete(id);
  }
}

function put<FetchedRow>(
  rows: Map<string, FetchedRow>,
  key: string,
  row: Uint8Array | undefined,
  decode: (row: Uint8Array) => FetchedRow,
): void {
  if (row === undefined) rows.delete(key);
  else rows.set(key, decode(row));
}

/** A `MemoryKeyValue` of partitions that can be checked often. */
export class MirroredKeyValue extends MemoryKeyValue {
  readonly #partitions = new Map<string, Rows>();
  /** Keys written since they were last decoded. */
  readonly #written = new Set<string>();

  override write(batch: ReadonlyMap<string, RowBytes | null>): Promise<void> {
    for (const key of batch.keys()) this.#written.add(key);
    return super.write(batch);
  }

  /**
   * Returns all rows of the partition that the invariants cover, completed invocations after the others; undefined when none was
   * written since the last call. Its `changedIds` are those since then. Journals have every row that is stored, and are shared with later
   * snapshots.
   */
  changed(partition: number): PartitionSnapshot | undefined {
    for (const key of this.#written) this.#rowsOf(key.slice(0, 2)).take(key, this.get(key));
    this.#written.clear();
    const rows = this.#rowsOf(keys.partitionPrefix(partition));
    if (!rows.isChanged) return undefined;
    rows.isChanged = false;
    return rows.snapshot();
  }

  #rowsOf(prefix: string): Rows {
    const existing = this.#partitions.get(prefix);
    if (existing !== undefined) return existing;
    const rows = new Rows();
    this.#partitions.set(prefix, rows);
    return rows;
  }
}
