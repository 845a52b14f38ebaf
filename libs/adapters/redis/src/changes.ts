/**
 * The result of a batch of mutations, table by table. Of several writes to one row the last one counts, so a row is encoded and sent once.
 * `RECORDERS` maps each kind of mutation to its table; a new kind does not compile until it has a line there.
 */
import { type InvocationId, invariant } from "@perdure/base";
import { EVENT_SLOTS, type Invocation, type JournalEntry, type Mutation, type TimerKey } from "@perdure/state-machine";
import {
  encodeEvent,
  encodeInbox,
  encodeLock,
  encodeNumber,
  encodeOutboxCommand,
  encodePause,
  encodePromise,
  timerGroupOf,
} from "@perdure/storage";
import { objectName, TIMER_SETS, type TimerSet, timerMember } from "./keys.js";

/** Tables with a hash for each object, and a set of the objects that have one. */
export type KeyedTable = "s" | "q" | "p";
/** Tables in one hash. */
type PlainTable = "lock" | "dedup" | "out" | "bucket" | "pause";
/** Rows of a hash; null deletes. */
export type HashFields = Map<string, Uint8Array | null>;

export interface JournalChange {
  /** The existing journal is deleted first. */
  reset: boolean;
  /** Index of the first entry. */
  first: number;
  readonly entries: JournalEntry[];
}

/** Most batches touch few of the tables: the map of one is made when it is first needed. */
export class BatchChanges {
  readonly invocations = new Map<InvocationId, Invocation | undefined>();
  /** Deleted within the batch, whatever became of them after. */
  deleted: Set<InvocationId> | undefined = undefined;
  readonly journals = new Map<InvocationId, JournalChange>();
  events: Map<InvocationId, HashFields> | undefined = undefined;
  readonly keyed: Record<KeyedTable, Map<string, HashFields> | undefined> = { s: undefined, q: undefined, p: undefined };
  readonly plain: Record<PlainTable, HashFields | undefined> = {
    lock: undefined,
    dedup: undefined,
    out: undefined,
    bucket: undefined,
    pause: undefined,
  };
  /** Member → due time, null deletes. */
  readonly timers: Record<TimerSet, Map<string, number | null> | undefined> = {
    t: undefined,
    r: undefined,
    x: undefined,
  };

  constructor(mutations: readonly Mutation[]) {
    for (const mutation of mutations) (RECORDERS[mutation.kind] as MutationRecorder<Mutation>)(this, mutation);
  }

  journal(id: InvocationId): JournalChange {
    let change = this.journals.get(id);
    if (change === undefined) {
      change = { reset: false, first: 0, entries: [] };
      this.journals.set(id, change);
    }
    return change;
  }

  markDeleted(id: InvocationId): void {
    this.deleted ??= new Set();
    this.deleted.add(id);
  }

  eventsOf(id: InvocationId): HashFields {
    this.events ??= new Map();
    return fieldsOf(this.events, id);
  }

  object(table: KeyedTable, service: string, key: string): HashFields {
    this.keyed[table] ??= new Map();
    return fieldsOf(this.keyed[table], objectName(service, key));
  }

  table(name: PlainTable): HashFields {
    this.plain[name] ??= new Map();
    return this.plain[name];
  }

  timer(timer: TimerKey, dueAtMs: number | null): void {
    const group = TIMER_SETS[timerGroupOf(timer)];
    this.timers[group] ??= new Map();
    this.timers[group].set(timerMember(timer), dueAtMs);
  }
}

function fieldsOf<K extends string>(table: Map<K, HashFields>, key: K): HashFields {
  let fields = table.get(key);
  if (fields === undefined) {
    fields = new Map();
    table.set(key, fields);
  }
  return fields;
}

type MutationRecorder<M extends Mutation> = (changes: BatchChanges, mutation: M) => void;

const RECORDERS: { readonly [K in Mutation["kind"]]: MutationRecorder<Extract<Mutation, { kind: K }>> } = {
  putInvocation: (changes, { invocation }) => changes.invocations.set(invocation.facts.id, invocation),
  deleteInvocation: (changes, { id }) => {
    changes.invocations.set(id, undefined);
    changes.markDeleted(id);
  },
  appendEntry: (changes, { id, index, entry }) => {
    const journal = changes.journal(id);
    if (journal.entries.length === 0) journal.first = index;
    invariant(index === journal.first + journal.entries.length, "entries are appended one after the other");
    invariant(!journal.reset || journal.first === 0, "a journal begins with its first entry");
    journal.entries.push(entry);
  },
  deleteJournal: (changes, { id }) => {
    const journal = changes.journal(id);
    journal.reset = true;
    journal.first = 0;
    journal.entries.length = 0;
  },
  putEvent: (changes, { id, slot, event }) => changes.eventsOf(id).set(String(slot), encodeEvent(event)),
  deleteEvents: (changes, { id }) => {
    const slots = changes.eventsOf(id);
    for (let slot = 0; slot <= EVENT_SLOTS; slot++) slots.set(String(slot), null);
  },
  putState: (changes, { service, key, stateKey, value }) => changes.object("s", service, key).set(stateKey, value),
  deleteState: (changes, { service, key, stateKey }) => changes.object("s", service, key).set(stateKey, null),
  putLock: (changes, { service, key, lock }) => changes.table("lock").set(objectName(service, key), encodeLock(lock)),
  deleteLock: (changes, { service, key }) => changes.table("lock").set(objectName(service, key), null),
  putInbox: (changes, { service, key, seq, entry }) => changes.object("q", service, key).set(String(seq), encodeInbox(entry)),
  deleteInbox: (changes, { service, key, seq }) => changes.object("q", service, key).set(String(seq), null),
  putPromise: (changes, { service, key, name, promise }) => changes.object("p", service, key).set(name, encodePromise(promise)),
  deletePromise: (changes, { service, key, name }) => changes.object("p", service, key).set(name, null),
  putTimer: (changes, { timer }) => changes.timer(timer, timer.dueAtMs),
  deleteTimer: (changes, { timer }) => changes.timer(timer, null),
  putOutbox: (changes, { message }) => changes.table("out").set(String(message.seq), encodeOutboxCommand(message.command)),
  deleteOutbox: (changes, { seq }) => changes.table("out").set(String(seq), null),
  putBucket: (changes, { bucket }) => changes.table("bucket").set(bucket.name, encodeNumber(bucket.bookedUntilMicros)),
  deleteBucket: (changes, { name }) => changes.table("bucket").set(name, null),
  putPause: (changes, { queue, pause }) => changes.table("pause").set(queue, encodePause(pause)),
  deletePause: (changes, { queue }) => changes.table("pause").set(queue, null),
  putDedup: (changes, { producer, seq }) => changes.table("dedup").set(producer, encodeNumber(seq)),
};
