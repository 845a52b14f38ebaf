/**
 * PartitionStore on any ordered key-value engine of one process. All partitions share one write, so a commit of several
 * is atomic. Epochs are kept in memory after `claim`: the engine's own lock keeps other processes out.
 */
import { type InvocationId, unreachable, type VqueueId } from "@perdure/base";
import type { BucketValue } from "@perdure/flow-control";
import type {
  InboxEntry,
  Invocation,
  JournalEntry,
  JournalEvent,
  Mutation,
  ObjectLock,
  OutboxMessage,
  TimerKey,
  WorkflowPromise,
} from "@perdure/state-machine";
import { EVENT_SLOTS } from "@perdure/state-machine";
import { decodeInvocation, invocationRow, isRecoverable, statusOf } from "../codec/invocation.js";
import { decodeOutboxCommand, encodeOutboxCommand } from "../codec/message.js";
import {
  decodeEntry,
  decodeEvent,
  decodeInbox,
  decodeLock,
  decodeNumber,
  decodePause,
  decodePromise,
  encodeEvent,
  encodeInbox,
  encodeLock,
  encodeNumber,
  encodePause,
  encodePromise,
  entryRow,
} from "../codec/rows.js";
import type {
  CommitOutcome,
  InboxRow,
  LockRow,
  PartitionBatch,
  PartitionStore,
  PauseRow,
  PromiseRow,
  StateRange,
  StateRow,
  StoreCapabilities,
  StoredFlow,
  SyncReads,
  TimerGroup,
} from "../partition-store.js";
import type { Population } from "../population.js";
import { storedStateTtls } from "../state-ttls.js";
import type { ActionMeter } from "./action-meter.js";
import type { KeyValue, RowBytes, Staging } from "./key-value.js";
import * as keys from "./keys.js";
import { readJournal } from "./read-journal.js";
import { keyedRange, stateRanges } from "./scan-ranges.js";

const NO_BYTES = new Uint8Array(0);

/** Returns the two keys of an invocation: it is stored under the first while it is unfinished, under the second when it is completed. */
export function invocationRowKeys(partition: number, id: InvocationId): readonly [unfinished: string, completed: string] {
  return [keys.unfinishedKey(partition, id), keys.completedKey(partition, id)];
}

export class KvPartitionStore implements PartitionStore {
  readonly capabilities: StoreCapabilities = { sharedBatch: true };
  readonly reads: SyncReads;
  readonly staging: Staging | undefined;
  readonly #kv: KeyValue;
  readonly #epochs = new Map<number, number>();

  readonly #meter: ActionMeter | undefined;

  /** `meter` belongs to the same engine and counts the actions of what is committed. */
  constructor(kv: KeyValue, meter?: ActionMeter) {
    this.#kv = kv;
    this.#meter = meter;
    this.reads = syncReads(kv);
    this.staging = kv.staging;
  }

  async claim(partition: number): Promise<number> {
    const row = this.#kv.get(keys.epochKey(partition));
    const epoch = Math.max(row === undefined ? 0 : decodeNumber(row), this.#epochs.get(partition) ?? 0) + 1;
    this.#epochs.set(partition, epoch);
    await this.#kv.write(new Map([[keys.epochKey(partition), encodeNumber(epoch)]]));
    return epoch;
  }

  async commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    const write = new Map<string, RowBytes | null>();
    for (const batch of batches) {
      const present = this.#epochs.get(batch.partition) ?? 0;
      if (present !== batch.epoch) return { kind: "fenced", partition: batch.partition, by: present };
      collect(batch.partition, batch.mutations, write);
    }
    if (this.#meter === undefined) await this.#kv.write(write);
    else await this.#writeMetered(this.#meter, batches, write);
    return { kind: "committed" };
  }

  async #writeMetered(
    meter: ActionMeter,
    batches: readonly PartitionBatch[],
    write: Map<string, RowBytes | null>,
  ): Promise<void> {
    for (const { mutations } of batches) meter.count(mutations);
    const sealed = meter.seal(write);
    await this.#kv.write(write);
    meter.markDurable(sealed);
  }

  readJournal(partition: number, id: InvocationId, length: number, bytesMax?: number): Promise<JournalEntry[]> {
    return readJournal(this.#kv, partition, id, length, bytesMax);
  }

  async stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>> {
    const prefix = keys.statePrefix(partition, service, key);
    const state = new Map<string, Uint8Array>();
    for await (const [row, value] of this.#kv.scan(prefix, keys.after(prefix))) {
      state.set(keys.parseStateRest(row.slice(prefix.length)), value);
    }
    return state;
  }

  async promisesOf(partition: number, service: string, key: string): Promise<readonly string[]> {
    const prefix = keys.promisePrefix(partition, service, key);
    const names: string[] = [];
    for await (const [row] of this.#kv.scan(prefix, keys.after(prefix), { keysOnly: true })) {
      names.push(keys.parsePromiseRest(row.slice(prefix.length)));
    }
    return names;
  }

  async timers(partition: number, group: TimerGroup, fromMs: number, limit: number): Promise<readonly TimerKey[]> {
    const timers: TimerKey[] = [];
    const end = keys.after(keys.timerTable(partition, group));
    for await (const [row] of this.#kv.scan(keys.timersFrom(partition, group, fromMs), end, { limit, keysOnly: true })) {
      timers.push(keys.parseTimerKey(row));
    }
    return timers;
  }

  async outbox(partition: number, afterSeq: number, limit: number): Promise<readonly OutboxMessage[]> {
    const messages: OutboxMessage[] = [];
    const start = keys.table(partition, "o");
    for await (const [row, value] of this.#kv.scan(keys.outboxKey(partition, afterSeq + 1), keys.after(start), { limit })) {
      messages.push({ seq: keys.parseSeqRest(row.slice(start.length)), command: decodeOutboxCommand(value) });
    }
    return messages;
  }

  async *recoverable(partition: number, counted?: Population): AsyncIterable<Invocation> {
    const start = keys.table(partition, "i");
    for await (const [, row] of this.#kv.scan(start, keys.after(start))) {
      const status = statusOf(row);
      if (counted !== undefined && status !== undefined && status !== "completed") counted[status]++;
      if (isRecoverable(row)) yield decodeInvocation(row);
    }
    if (counted === undefined) return;
    const timers = keys.table(partition, "t");
    for await (const _ of this.#kv.scan(timers, keys.after(timers), { keysOnly: true })) counted.timers++;
  }

  async flow(partition: number): Promise<StoredFlow> {
    const start = keys.table(partition, "f");
    const buckets: BucketValue[] = [];
    const pauses: PauseRow[] = [];
    for await (const [key, row] of this.#kv.scan(start, keys.after(start))) {
      const { kind, name } = keys.parseFlowKey(key);
      if (kind === "bucket") buckets.push({ name, bookedUntilMicros: decodeNumber(row) });
      else pauses.push({ queue: name as VqueueId, pause: decodePause(row) });
    }
    return { buckets, pauses, stateTtls: await storedStateTtls(this, partition) };
  }

  async *unfinished(partition: number, status: Invocation["status"] | undefined): AsyncIterable<Invocation> {
    const start = keys.table(partition, "i");
    for await (const [, row] of this.#kv.scan(start, keys.after(start))) {
      if (status === undefined || statusOf(row) === status) yield decodeInvocation(row);
    }
  }

  async *completed(partition: number): AsyncIterable<Invocation> {
    const start = keys.table(partition, "c");
    for await (const [, row] of this.#kv.scan(start, keys.after(start))) yield decodeInvocation(row);
  }

  /**
   * Yields invocations in their stored form, many at a time, for `InvocationFields`, which needs no results: those in large rows may be
   * cut off.
   */
  invocationRows(partition: number, group: "unfinished" | "completed"): AsyncIterable<readonly Uint8Array[]> {
    const start = keys.table(partition, group === "unfinished" ? "i" : "c");
    return this.#kv.values(start, keys.after(start), { firstParts: true });
  }

  /** Returns one stored invocation; undefined when it does not exist. */
  invocationRow(partition: number, id: InvocationId): Uint8Array | undefined {
    return this.#kv.get(keys.unfinishedKey(partition, id)) ?? this.#kv.get(keys.completedKey(partition, id));
  }

  async events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]> {
    const start = keys.eventKey(partition, id, 0).slice(0, -2);
    const events: JournalEvent[] = [];
    for await (const [, row] of this.#kv.scan(start, keys.after(start))) events.push(decodeEvent(row));
    return events.sort((a, b) => a.atMs - b.atMs);
  }

  async *scanState(partition: number, service: string | undefined, where?: StateRange): AsyncIterable<StateRow> {
    for (const range of stateRanges(partition, service, where)) {
      for await (const [row, value] of this.#kv.scan(...range)) {
        const parsed = keys.parseKeyed(row);
        yield { service: parsed.service, key: parsed.key, stateKey: keys.parseStateRest(parsed.rest), value };
      }
    }
  }

  async *scanPromises(partition: number): AsyncIterable<PromiseRow> {
    for await (const [row, value] of this.#kv.scan(...keyedRange(partition, "promises"))) {
      const parsed = keys.parseKeyed(row);
      yield { service: parsed.service, key: parsed.key, name: keys.parsePromiseRest(parsed.rest), promise: decodePromise(value) };
    }
  }

  async *scanLocks(partition: number): AsyncIterable<LockRow> {
    for await (const [row, value] of this.#kv.scan(...keyedRange(partition, "locks"))) {
      const parsed = keys.parseKeyed(row);
      yield { service: parsed.service, key: parsed.key, lock: decodeLock(value) };
    }
  }

  async *scanInboxes(partition: number): AsyncIterable<InboxRow> {
    for await (const [row, value] of this.#kv.scan(...keyedRange(partition, "inboxes"))) {
      const parsed = keys.parseKeyed(row);
      yield { service: parsed.service, key: parsed.key, seq: keys.parseSeqRest(parsed.rest), entry: decodeInbox(value) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#meter?.beforeClose(this.#kv);
    await this.#kv[Symbol.asyncDispose]();
    this.#meter?.afterClose();
  }
}

function syncReads(kv: KeyValue): SyncReads {
  return {
    invocation(partition: number, id: InvocationId): Invocation | undefined {
      const row = kv.get(keys.unfinishedKey(partition, id)) ?? kv.get(keys.completedKey(partition, id));
      return row === undefined ? undefined : decodeInvocation(row);
    },
    entry(partition: number, id: InvocationId, index: number): JournalEntry | undefined {
      const row = kv.get(keys.entryKey(partition, id, index));
      return row === undefined ? undefined : decodeEntry(row);
    },
    lock(partition: number, service: string, key: string): ObjectLock | undefined {
      const row = kv.get(keys.lockKey(partition, service, key));
      return row === undefined ? undefined : decodeLock(row);
    },
    inbox(partition: number, service: string, key: string, seq: number): InboxEntry | undefined {
      const row = kv.get(keys.inboxKey(partition, service, key, seq));
      return row === undefined ? undefined : decodeInbox(row);
    },
    state(partition: number, service: string, key: string, stateKey: string): Uint8Array | undefined {
      return kv.get(keys.stateKeyOf(partition, service, key, stateKey));
    },
    promise(partition: number, service: string, key: string, name: string): WorkflowPromise | undefined {
      const row = kv.get(keys.promiseKey(partition, service, key, name));
      return row === undefined ? undefined : decodePromise(row);
    },
    hasTimer(partition: number, timer: TimerKey): boolean {
      return kv.get(keys.timerKeyOf(partition, timer)) !== undefined;
    },
    dedup(partition: number, producer: string): number | undefined {
      const row = kv.get(keys.dedupKey(partition, producer));
      return row === undefined ? undefined : decodeNumber(row);
    },
  };
}

/** Converts mutations to rows; of several writes to one row the last one counts. */
function collect(partition: number, mutations: readonly Mutation[], write: Map<string, RowBytes | null>): void {
  // Encoding waits until the end of the batch: an invocation that changed five times is encoded once.
  const invocations = new Map<InvocationId, Invocation | undefined>();
  let deletedIds: Set<InvocationId> | undefined;
  for (const mutation of mutations) {
    switch (mutation.kind) {
      case "putInvocation":
        invocations.set(mutation.invocation.facts.id, mutation.invocation);
        break;
      case "deleteInvocation":
        invocations.set(mutation.id, undefined);
        deletedIds ??= new Set();
        deletedIds.add(mutation.id);
        break;
      case "appendEntry":
        write.set(keys.entryKey(partition, mutation.id, mutation.index), entryRow(mutation.entry));
        break;
      case "deleteJournal":
        for (let index = 0; index < mutation.length; index++) write.set(keys.entryKey(partition, mutation.id, index), null);
        break;
      case "putEvent":
        write.set(keys.eventKey(partition, mutation.id, mutation.slot), encodeEvent(mutation.event));
        break;
      case "deleteEvents":
        for (let slot = 0; slot <= EVENT_SLOTS; slot++) write.set(keys.eventKey(partition, mutation.id, slot), null);
        break;
      case "putState":
        write.set(keys.stateKeyOf(partition, mutation.service, mutation.key, mutation.stateKey), mutation.value);
        break;
      case "deleteState":
        write.set(keys.stateKeyOf(partition, mutation.service, mutation.key, mutation.stateKey), null);
        break;
      case "putLock":
        write.set(keys.lockKey(partition, mutation.service, mutation.key), encodeLock(mutation.lock));
        break;
      case "deleteLock":
        write.set(keys.lockKey(partition, mutation.service, mutation.key), null);
        break;
      case "putInbox":
        write.set(keys.inboxKey(partition, mutation.service, mutation.key, mutation.seq), encodeInbox(mutation.entry));
        break;
      case "deleteInbox":
        write.set(keys.inboxKey(partition, mutation.service, mutation.key, mutation.seq), null);
        break;
      case "putPromise":
        write.set(keys.promiseKey(partition, mutation.service, mutation.key, mutation.name), encodePromise(mutation.promise));
        break;
      case "deletePromise":
        write.set(keys.promiseKey(partition, mutation.service, mutation.key, mutation.name), null);
        break;
      case "putTimer":
        write.set(keys.timerKeyOf(partition, mutation.timer), NO_BYTES);
        break;
      case "deleteTimer":
        write.set(keys.timerKeyOf(partition, mutation.timer), null);
        break;
      case "putOutbox":
        write.set(keys.outboxKey(partition, mutation.message.seq), encodeOutboxCommand(mutation.message.command));
        break;
      case "deleteOutbox":
        write.set(keys.outboxKey(partition, mutation.seq), null);
        break;
      case "putBucket":
        write.set(keys.bucketKey(partition, mutation.bucket.name), encodeNumber(mutation.bucket.bookedUntilMicros));
        break;
      case "deleteBucket":
        write.set(keys.bucketKey(partition, mutation.name), null);
        break;
      case "putPause":
        write.set(keys.pauseKey(partition, mutation.queue), encodePause(mutation.pause));
        break;
      case "deletePause":
        write.set(keys.pauseKey(partition, mutation.queue), null);
        break;
      case "putDedup":
        write.set(keys.dedupKey(partition, mutation.producer), encodeNumber(mutation.seq));
        break;
      default:
        return unreachable(mutation);
    }
  }
  for (const [id, invocation] of invocations) {
    const unfinished = keys.unfinishedKey(partition, id);
    const completed = keys.completedKey(partition, id);
    if (invocation === undefined) {
      write.set(unfinished, null);
      write.set(completed, null);
    } else if (invocation.status === "completed") {
      write.set(unfinished, null);
      write.set(completed, invocationRow(invocation));
    } else {
      write.set(unfinished, invocationRow(invocation));
      if (deletedIds?.has(id)) write.set(completed, null); // The id was deleted and created again in one batch.
    }
  }
}
