/**
 * From mutations to the third argument of the commit script: writes to one key become one Redis command, and large payloads are
 * left out, to be written beforehand.
 *
 *   [ journals, staged, writes, emptied ]
 *   journal  [ id, 1 when what was there goes first, index of the first entry, row … ]
 *   staged   keys of chunks that must be there, and last from now on
 *   write    [ command, key, argument … ]
 *   emptied  [ table, object ]: when the object has no row left, it leaves the set of the table
 */
import type { InvocationId } from "@perdure/base";
import type { Invocation, Mutation } from "@perdure/partition";
import { encodeEntry, encodeInvocation } from "@perdure/store";
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
import { Changes, type Fields, type JournalChange, type KeyedTable } from "./changes.js";
import { INLINE_BYTES_CROWDED, INLINE_BYTES_MAX, SCRIPT_ARGS_MAX, SCRIPT_BYTES_MAX } from "./limits.js";
import { Packer } from "./packer.js";

export interface PackedBatch {
  /** Third argument of the commit script. */
  readonly packed: Buffer;
  /** Payloads to be written before. */
  readonly staged: readonly StagedPayload[];
}

/** What the batch writes. `sets` learns which payloads go to chunks; when the batch is not committed it is of no use any more. */
export function packBatch(mutations: readonly Mutation[], sets: ChunkSets): PackedBatch {
  const crowded = payloadBytes(mutations) > SCRIPT_BYTES_MAX;
  return new BatchWriter(sets, crowded ? INLINE_BYTES_CROWDED : INLINE_BYTES_MAX).write(new Changes(mutations));
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

/** Bytes are a row, tagged when they are packed; `latin1` is a binary string. */
type Argument = string | Uint8Array | StagedPayload | { readonly latin1: string };
type Write = readonly [command: string, key: string, args: readonly Argument[]];
type Journal = readonly [id: InvocationId, reset: boolean, first: number, rows: readonly Argument[]];

const packer = new Packer();

class BatchWriter {
  readonly #sets: ChunkSets;
  readonly #inlineMax: number;
  readonly #journals: Journal[] = [];
  readonly #writes: Write[] = [];
  readonly #emptied: (readonly [KeyedTable, string])[] = [];
  readonly #staged: StagedPayload[] = [];
  /** Lines for the list of chunk sets: set and owner in turn. */
  readonly #listed: string[] = [];
  readonly #dropped: ChunkSet[] = [];

  constructor(sets: ChunkSets, inlineMax: number) {
    this.#sets = sets;
    this.#inlineMax = inlineMax;
  }

  write(changes: Changes): PackedBatch {
    for (const [id, journal] of changes.journals) this.#journal(id, journal);
    if (changes.invocations.size > 0) this.#invocations(changes);
    for (const [id, slots] of changes.events) this.#hash(`ev:${id}`, slots);
    this.#objects("s", changes.keyed.s);
    this.#objects("q", changes.keyed.q);
    this.#objects("p", changes.keyed.p);
    this.#hash("lock", changes.plain.lock);
    this.#hash("dedup", changes.plain.dedup);
    this.#hash("bucket", changes.plain.bucket);
    this.#hash("pause", changes.plain.pause);
    this.#outbox(changes.plain.out);
    this.#timers("t", changes.timers.t);
    this.#timers("r", changes.timers.r);
    this.#chunkSets();
    return { packed: this.#pack(), staged: this.#staged };
  }

  // ── tables ─────────────────────────────────────────────────────────────────────────────────────

  #journal(id: InvocationId, { reset, first, entries }: JournalChange): void {
    const group = `j:${id}`;
    if (reset) this.#drop(group);
    this.#journals.push([id, reset, first, entries.map((entry, n) => this.#row(group, String(first + n), encodeEntry(entry)))]);
  }

  #invocations({ invocations, forgotten }: Changes): void {
    const unfinished: Fields = new Map();
    const done: Fields = new Map();
    const status: Argument[] = [];
    const statusGone: string[] = [];
    const doneAt: string[] = [];
    const doneGone: string[] = [];
    for (const [id, invocation] of invocations) {
      const isDone = invocation?.status === "completed";
      const row = invocation === undefined ? null : encodeInvocation(invocation);
      unfinished.set(id, isDone ? null : row);
      if (isDone) {
        done.set(id, row);
        doneAt.push(String(completedAtMs(invocation)), id);
      } else if (forgotten.has(id)) {
        done.set(id, null);
        doneGone.push(id);
      }
      if (row === null || isDone || invocation?.status === "suspended") statusGone.push(id);
      else status.push(id, String(row[0]));
    }
    this.#hash("inv", unfinished);
    this.#hash("done", done);
    this.#command("HSET", "status", status);
    this.#command("HDEL", "status", statusGone);
    this.#command("ZADD", "done:at", doneAt);
    this.#command("ZREM", "done:at", doneGone);
  }

  /** A hash for each object, and the set of objects that have one. */
  #objects(table: KeyedTable, objects: ReadonlyMap<string, Fields>): void {
    const present: string[] = [];
    for (const [object, fields] of objects) {
      if (this.#hash(`${table}:${object}`, fields)) present.push(object);
      else this.#emptied.push([table, object]);
    }
    this.#command("SADD", table, present);
  }

  #outbox(messages: Fields): void {
    if (messages.size === 0) return;
    this.#hash("out", messages);
    const put: string[] = [];
    const gone: string[] = [];
    for (const [seq, row] of messages) {
      if (row === null) gone.push(seq);
      else put.push(seq, seq);
    }
    this.#command("ZADD", "out:at", put);
    this.#command("ZREM", "out:at", gone);
  }

  #timers(key: "t" | "r", timers: ReadonlyMap<string, number | null>): void {
    if (timers.size === 0) return;
    const put: Argument[] = [];
    const gone: Argument[] = [];
    for (const [member, dueAtMs] of timers) {
      if (dueAtMs === null) gone.push({ latin1: member });
      else put.push(String(dueAtMs), { latin1: member });
    }
    this.#command("ZADD", key, put);
    this.#command("ZREM", key, gone);
  }

  /** Puts and deletes rows of one hash; tells whether it puts any. State keys are binary strings, all other fields are text. */
  #hash(key: string, fields: Fields): boolean {
    if (fields.size === 0) return false;
    const binary = key.startsWith("s:");
    const put: Argument[] = [];
    const gone: Argument[] = [];
    for (const [name, row] of fields) {
      const field = binary ? { latin1: name } : name;
      if (row === null) {
        this.#drop(key, name);
        gone.push(field);
      } else put.push(field, this.#row(key, name, row));
    }
    this.#command("HSET", key, put);
    this.#command("HDEL", key, gone);
    return put.length > 0;
  }

  #command(name: string, key: string, args: readonly Argument[]): void {
    for (let from = 0; from < args.length; from += SCRIPT_ARGS_MAX)
      this.#writes.push([name, key, args.length <= SCRIPT_ARGS_MAX ? args : args.slice(from, from + SCRIPT_ARGS_MAX)]);
  }

  // ── large payloads ─────────────────────────────────────────────────────────────────────────────

  #row(group: string, field: string, row: Uint8Array): Argument {
    this.#drop(group, field);
    if (row.length <= this.#inlineMax) return row;
    const { staged, line } = this.#sets.add(group, field, row);
    this.#staged.push(staged);
    this.#listed.push(staged.set, line);
    return staged;
  }

  #drop(group: string, field?: string): void {
    if (!this.#sets.isEmpty) this.#dropped.push(...this.#sets.drop(group, field));
  }

  #chunkSets(): void {
    this.#command("HSET", "big", this.#listed);
    this.#command(
      "HDEL",
      "big",
      this.#dropped.map(({ set }) => set),
    );
    for (const set of this.#dropped) for (const key of chunkKeys(set)) this.#writes.push(["UNLINK", key, []]);
  }

  // ── packing ────────────────────────────────────────────────────────────────────────────────────

  #pack(): Buffer {
    packer.reset().list(4).list(this.#journals.length);
    for (const [id, reset, first, rows] of this.#journals) {
      packer.list(3 + rows.length).text(id);
      packer.uint(reset ? 1 : 0).uint(first);
      for (const row of rows) packArgument(row);
    }
    const chunks = this.#staged.flatMap(({ set, payload }) => chunkKeys({ set, chunks: chunkCount(payload.length) }));
    packer.list(chunks.length);
    for (const key of chunks) packer.text(key);
    packer.list(this.#writes.length);
    for (const [command, key, args] of this.#writes) {
      packer
        .list(2 + args.length)
        .text(command)
        .text(key);
      for (const argument of args) packArgument(argument);
    }
    packer.list(this.#emptied.length);
    for (const [table, object] of this.#emptied) packer.list(2).text(table).text(object);
    return packer.finish();
  }
}

function packArgument(argument: Argument): void {
  if (typeof argument === "string") packer.text(argument);
  else if (argument instanceof Uint8Array) packer.tagged(INLINE, argument);
  else if ("latin1" in argument) packer.latin1(argument.latin1);
  else packer.latin1(String.fromCharCode(CHUNKED) + chunkReference(argument));
}

function completedAtMs(invocation: Invocation): number {
  return invocation.milestones.completedAtMs ?? 0;
}
