/**
 * Packs mutations into the argument of the commit script: writes to one key become one Redis command, and large payloads are left out, to
 * be written beforehand. Mutations are packed in one pass, because this runs for every commit of every partition.
 *
 *     [ epoch, number, actions, journals, writes, emptied, staged ]
 *     actions  number of actions that the batch counts (`usage.ts`)
 *     journal  [ id, 1 when the existing journal is deleted first, index of the first entry, row … ]
 *     write    [ command, key, argument … ]
 *     emptied  [ table, object ]: when the object has no row left, it leaves the set of the table
 *     staged   keys of chunks that must exist, and no longer expire from now on
 */
import { type InvocationId, present } from "@perdure/base";
import type { Invocation, Mutation } from "@perdure/state-machine";
import { actionsOf, encodeEntry, encodeInvocation } from "@perdure/storage";
import {
  CHUNKED,
  type ChunkSet,
  type ChunkSets,
  chunkCount,
  chunkKeys,
  chunkReference,
  INLINE,
  type StagedPayload,
} from "./big-values.js";
import { BatchChanges, type HashFields, type JournalChange, type KeyedTable } from "./changes.js";
import type { TimerSet } from "./keys.js";
import { INLINE_BYTES_CROWDED, INLINE_BYTES_MAX, SCRIPT_ARGS_MAX, SCRIPT_BYTES_MAX } from "./limits.js";
import { BatchPacker } from "./packer.js";
import type { StatusCache } from "./status-cache.js";

interface PackedBatch {
  /** The argument of the commit script. */
  readonly packed: Buffer;
  /** Payloads to be written before. */
  readonly staged: readonly StagedPayload[];
}

/** Stored rows that a leader caches. When a batch that changed the cache is not committed, the cache must be dropped. */
export interface LeaderCache {
  /** The payloads in chunks. */
  readonly sets: ChunkSets;
  readonly statuses: StatusCache;
}

/** Packs the writes of the `number`th batch of this epoch. */
export function packBatch(mutations: readonly Mutation[], epoch: number, number: number, cache: LeaderCache): PackedBatch {
  const crowded = payloadBytes(mutations) > SCRIPT_BYTES_MAX;
  const writer = new BatchWriter(cache, crowded ? INLINE_BYTES_CROWDED : INLINE_BYTES_MAX);
  packer.reset().list(7).text(String(epoch)).text(String(number)).uint(actionsOf(mutations));
  return writer.write(new BatchChanges(mutations));
}

/** Roughly, and only what can be large. */
function payloadBytes(mutations: readonly Mutation[]): number {
  let bytes = 0;
  for (const mutation of mutations) {
    if (mutation.kind === "appendEntry") bytes += mutation.entry.body.length;
    else if (mutation.kind === "putState") bytes += mutation.value.length;
  }
  return bytes;
}

const packer = new BatchPacker();

/** Command and key. */
const WRITE_HEAD = 2;
const NO_SETS: readonly StagedPayload[] = [];

class BatchWriter {
  readonly #sets: ChunkSets;
  readonly #statuses: StatusCache;
  readonly #inlineMax: number;
  readonly #emptied: (readonly [KeyedTable, string])[] = [];
  #staged: StagedPayload[] | undefined = undefined;
  /** Lines for the list of chunk sets: set and owner in turn. */
  #listed: string[] | undefined = undefined;
  #dropped: ChunkSet[] | undefined = undefined;
  #writeCount = 0;
  /** The open write: its position, its command and its number of arguments. */
  #writeAt = 0;
  #command = "";
  #key = "";
  #argumentCount = 0;

  constructor({ sets, statuses }: LeaderCache, inlineMax: number) {
    this.#sets = sets;
    this.#statuses = statuses;
    this.#inlineMax = inlineMax;
  }

  write(changes: BatchChanges): PackedBatch {
    packer.list(changes.journals.size);
    for (const [id, journal] of changes.journals) this.#journal(id, journal);
    const writesAt = packer.openList();
    if (changes.invocations.size > 0) this.#invocations(changes);
    if (changes.events !== undefined) for (const [id, slots] of changes.events) this.#hash(`ev:${id}`, slots);
    const { keyed, plain, timers } = changes;
    if (keyed.s !== undefined) this.#objects("s", keyed.s);
    if (keyed.q !== undefined) this.#objects("q", keyed.q);
    if (keyed.p !== undefined) this.#objects("p", keyed.p);
    if (plain.lock !== undefined) this.#hash("lock", plain.lock);
    if (plain.dedup !== undefined) this.#hash("dedup", plain.dedup);
    if (plain.bucket !== undefined) this.#hash("bucket", plain.bucket);
    if (plain.pause !== undefined) this.#hash("pause", plain.pause);
    if (plain.out !== undefined) this.#outbox(plain.out);
    if (timers.t !== undefined) this.#timers("t", timers.t);
    if (timers.r !== undefined) this.#timers("r", timers.r);
    if (timers.x !== undefined) this.#timers("x", timers.x);
    this.#chunkSets();
    packer.closeList(writesAt, this.#writeCount);
    packer.list(this.#emptied.length);
    for (const [table, object] of this.#emptied) packer.list(2).text(table).text(object);
    const staged = this.#staged ?? NO_SETS;
    const chunks = staged.flatMap(({ set, payload }) => chunkKeys({ set, chunks: chunkCount(payload.length) }));
    packer.list(chunks.length);
    for (const key of chunks) packer.text(key);
    return { packed: packer.finish(), staged };
  }

  // ── tables ─────────────────────────────────────────────────────────────────────────────────────

  #journal(id: InvocationId, { reset, first, entries }: JournalChange): void {
    const group = `j:${id}`;
    if (reset) this.#drop(group);
    packer.list(3 + entries.length).text(id);
    packer.uint(reset ? 1 : 0).uint(first);
    let index = first;
    for (const entry of entries) this.#row(group, String(index++), encodeEntry(entry));
  }

  #invocations({ invocations, deleted }: BatchChanges): void {
    let unfinished = 0;
    let done = 0;
    for (const invocation of invocations.values()) {
      if (invocation === undefined) continue;
      if (invocation.status === "completed") done++;
      else unfinished++;
    }
    if (unfinished > 0) this.#unfinished(invocations);
    if (unfinished < invocations.size) {
      this.#open("HDEL", "inv");
      for (const [id, invocation] of invocations) {
        if (invocation !== undefined && invocation.status !== "completed") continue;
        this.#drop("inv", id);
        this.#more().text(id);
      }
      this.#close();
    }
    if (done > 0) this.#done(invocations);
    if (deleted !== undefined) this.#deleted(invocations, deleted);
    this.#open("HDEL", "status");
    for (const [id, invocation] of invocations) {
      if (invocation !== undefined && hasStatusByte(invocation)) continue;
      this.#statuses.evict(id);
      this.#more().text(id);
    }
    this.#close();
  }

  #unfinished(invocations: BatchChanges["invocations"]): void {
    const stored: string[] = [];
    this.#open("HSET", "inv");
    for (const [id, invocation] of invocations) {
      if (invocation === undefined || invocation.status === "completed") continue;
      const row = encodeInvocation(invocation);
      this.#more().text(id);
      this.#row("inv", id, row);
      this.#argumentCount++;
      const byte = present(row[0]);
      if (hasStatusByte(invocation) && this.#statuses.needsWrite(id, byte)) stored.push(id, String(byte));
    }
    this.#close();
    this.#texts("HSET", "status", stored);
  }

  #done(invocations: BatchChanges["invocations"]): void {
    const doneAt: string[] = [];
    this.#open("HSET", "done");
    for (const [id, invocation] of invocations) {
      if (invocation === undefined || invocation.status !== "completed") continue;
      this.#more().text(id);
      this.#row("done", id, encodeInvocation(invocation));
      this.#argumentCount++;
      doneAt.push(String(completedAtMs(invocation)), id);
    }
    this.#close();
    this.#texts("ZADD", "done:at", doneAt);
  }

  #deleted(invocations: BatchChanges["invocations"], deleted: ReadonlySet<InvocationId>): void {
    const gone: string[] = [];
    for (const id of deleted) {
      if (invocations.get(id)?.status === "completed") continue; // Completed anew within the batch.
      this.#drop("done", id);
      gone.push(id);
    }
    this.#texts("HDEL", "done", gone);
    this.#texts("ZREM", "done:at", gone);
  }

  /** A hash for each object, and the set of objects that have one. */
  #objects(table: KeyedTable, objects: ReadonlyMap<string, HashFields>): void {
    const present: string[] = [];
    for (const [object, fields] of objects) {
      if (this.#hash(`${table}:${object}`, fields)) present.push(object);
      else this.#emptied.push([table, object]);
    }
    this.#texts("SADD", table, present);
  }

  #outbox(messages: HashFields): void {
    this.#hash("out", messages);
    const put: string[] = [];
    const gone: string[] = [];
    for (const [seq, row] of messages) {
      if (row === null) gone.push(seq);
      else put.push(seq, seq);
    }
    this.#texts("ZADD", "out:at", put);
    this.#texts("ZREM", "out:at", gone);
  }

  #timers(key: TimerSet, timers: ReadonlyMap<string, number | null>): void {
    this.#open("ZADD", key);
    for (const [member, dueAtMs] of timers) {
      if (dueAtMs === null) continue;
      this.#more().text(String(dueAtMs)).latin1(member);
      this.#argumentCount++;
    }
    this.#close();
    this.#open("ZREM", key);
    for (const [member, dueAtMs] of timers) if (dueAtMs === null) this.#more().latin1(member);
    this.#close();
  }

  /** Puts and deletes rows of one hash; returns whether it puts any. State keys are binary strings, all other fields are text. */
  #hash(key: string, fields: HashFields): boolean {
    const binary = key.startsWith("s:");
    let gone = 0;
    this.#open("HSET", key);
    for (const [name, row] of fields) {
      if (row === null) {
        gone++;
        continue;
      }
      if (binary) this.#more().latin1(name);
      else this.#more().text(name);
      this.#row(key, name, row);
      this.#argumentCount++;
    }
    this.#close();
    if (gone === 0) return fields.size > 0;
    this.#open("HDEL", key);
    for (const [name, row] of fields) {
      if (row !== null) continue;
      this.#drop(key, name);
      if (binary) this.#more().latin1(name);
      else this.#more().text(name);
    }
    this.#close();
    return gone < fields.size;
  }

  #texts(command: string, key: string, args: readonly string[]): void {
    if (args.length === 0) return;
    this.#open(command, key);
    for (let n = 0; n < args.length; n++) this.#more().text(present(args[n]));
    this.#close();
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────

  /** A write, which is none unless it gets arguments before it is closed. */
  #open(command: string, key: string): void {
    this.#command = command;
    this.#key = key;
    this.#argumentCount = 0;
  }

  /** The packer for the next argument, or for two that belong together. */
  #more(): BatchPacker {
    // Even, so that pairs are never parted.
    if (this.#argumentCount >= SCRIPT_ARGS_MAX) {
      this.#close();
      this.#argumentCount = 0;
    }
    if (this.#argumentCount++ > 0) return packer;
    this.#writeAt = packer.openList();
    return packer.text(this.#command).text(this.#key);
  }

  #close(): void {
    if (this.#argumentCount === 0) return;
    packer.closeList(this.#writeAt, WRITE_HEAD + this.#argumentCount);
    this.#writeCount++;
  }

  // ── large payloads ─────────────────────────────────────────────────────────────────────────────

  #row(group: string, field: string, row: Uint8Array): void {
    this.#drop(group, field);
    if (row.length <= this.#inlineMax) {
      packer.tagged(INLINE, row);
      return;
    }
    const { staged, line } = this.#sets.add(group, field, row);
    this.#staged ??= [];
    this.#staged.push(staged);
    this.#listed ??= [];
    this.#listed.push(staged.set, line);
    packer.latin1(String.fromCharCode(CHUNKED) + chunkReference(staged));
  }

  #drop(group: string, field?: string): void {
    if (this.#sets.isEmpty) return;
    this.#dropped ??= [];
    this.#dropped.push(...this.#sets.drop(group, field));
  }

  #chunkSets(): void {
    if (this.#listed !== undefined) this.#texts("HSET", "big", this.#listed);
    if (this.#dropped === undefined) return;
    this.#texts(
      "HDEL",
      "big",
      this.#dropped.map(({ set }) => set),
    );
    for (const set of this.#dropped) {
      for (const key of chunkKeys(set)) {
        packer.list(WRITE_HEAD).text("UNLINK").text(key);
        this.#writeCount++;
      }
    }
  }
}

/** Invocations that are not suspended are in the index that a new leader reads. */
function hasStatusByte({ status }: Invocation): boolean {
  return status !== "completed" && status !== "suspended";
}

function completedAtMs(invocation: Invocation): number {
  return invocation.milestones.completedAtMs ?? 0;
}
