/**
 * Reads rows in batches: all requested fields of one hash in one command, all commands in one transaction, so that a fetch returns the
 * state of one moment in one round trip. Journals are paged, and large payloads need a second round trip.
 */
import { type InvocationId, invariant, present, unreachable } from "@perdure/base";
import type { JournalEntry, WorkflowPromise } from "@perdure/state-machine";
import {
  decodeEntry,
  decodeInbox,
  decodeInvocation,
  decodeLock,
  decodeNumber,
  decodePromise,
  type FetchedRow,
  JournalBytes,
  type RowKey,
  timerGroupOf,
} from "@perdure/storage";
import { objectName, TIMER_SETS, timerMember } from "./keys.js";
import { JOURNAL_BOUNDED_ROWS_FIRST, JOURNAL_PAGE_BYTES, JOURNAL_ROWS_FIRST, JOURNAL_ROWS_MAX } from "./limits.js";
import type { CommandReply, RedisCommand } from "./link.js";
import { payloadsOf, type StoredCell } from "./payloads.js";
import type { PartitionReads } from "./reads.js";
import { listReply, streamReply } from "./replies.js";
import { answer } from "./requester.js";
import { sortedState } from "./storage-order.js";

export async function fetchRows(
  requester: PartitionReads,
  prefix: string,
  keys: readonly RowKey[],
): Promise<readonly FetchedRow[]> {
  const plan = new FetchPlan(prefix);
  const places = keys.map((key) => plan.place(key));
  const replies = await transaction(requester, plan.commands());
  // Every row's cells in one list, so that whatever is in chunks is resolved in one place.
  const cells: StoredCell[] = [];
  const ends = places.map((place) => {
    for (const cell of place(replies)) cells.push(cell);
    return cells.length;
  });
  const payloads = await payloadsOf(requester, prefix, cells);
  const rows: FetchedRow[] = [];
  for (const [n, key] of keys.entries()) {
    const from = n === 0 ? 0 : present(ends[n - 1]);
    rows.push(
      key.kind === "journal"
        ? { ...key, value: await readJournal(requester, prefix, key.id, Number.POSITIVE_INFINITY) }
        : rowOf(key, payloads.slice(from, ends[n]), cells.slice(from, ends[n])),
    );
  }
  return rows;
}

/** One moment of the partition; a single command is one by itself. */
async function transaction(requester: PartitionReads, commands: readonly RedisCommand[]): Promise<readonly CommandReply[]> {
  const [only] = commands;
  if (only === undefined) return [];
  if (commands.length === 1) return [await requester.one(only)];
  const replies = await requester.request([["MULTI"], ...commands, ["EXEC"]]);
  const results = answer(present(replies[replies.length - 1]));
  invariant(Array.isArray(results), "a transaction without WATCH is carried out");
  return (results as readonly CommandReply[]).map(answer);
}

/** Finds a row's cells among the replies. */
type CellFinder = (replies: readonly CommandReply[]) => readonly StoredCell[];

/** The commands of a fetch, with the fields of one hash in one command. */
class FetchPlan {
  readonly #prefix: string;
  readonly #single: RedisCommand[] = [];
  readonly #hashes = new Map<string, { readonly at: number; readonly fields: Buffer[] }>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Hashes first, then the single commands. */
  commands(): readonly RedisCommand[] {
    return [
      ...[...this.#hashes].map(([key, { fields }]): RedisCommand => ["HMGET", this.#prefix + key, ...fields]),
      ...this.#single,
    ];
  }

  place(key: RowKey): CellFinder {
    switch (key.kind) {
      case "invocation": {
        const [unfinished, done] = [this.#field("inv", key.id), this.#field("done", key.id)];
        return (replies) => [...unfinished(replies), ...done(replies)];
      }
      case "entry":
        return this.#command(["XRANGE", `${this.#prefix}j:${key.id}`, `${key.index}-1`, `${key.index}-1`], (reply) =>
          streamReply(reply).map((stored) => ({ stored, again: undefined })),
        );
      case "journal":
        return () => [];
      case "lock":
        return this.#field("lock", objectName(key.service, key.key));
      case "inbox":
        return this.#field(`q:${objectName(key.service, key.key)}`, String(key.seq));
      case "state":
        return this.#field(`s:${objectName(key.service, key.key)}`, key.stateKey, "latin1");
      case "stateOf":
        return this.#all(`s:${objectName(key.service, key.key)}`);
      case "promise":
        return this.#field(`p:${objectName(key.service, key.key)}`, key.name);
      case "promisesOf":
        return this.#all(`p:${objectName(key.service, key.key)}`);
      case "hasTimer": {
        const member = Buffer.from(timerMember(key.timer), "latin1");
        const table = TIMER_SETS[timerGroupOf(key.timer)];
        return this.#command(["ZSCORE", this.#prefix + table, member], (reply) => [
          { stored: reply === null ? null : PRESENT, again: undefined },
        ]);
      }
      case "dedup":
        return this.#field("dedup", key.producer);
      default:
        return unreachable(key);
    }
  }

  #field(hash: string, name: string, encoding: "utf8" | "latin1" = "utf8"): CellFinder {
    const field = Buffer.from(name, encoding);
    let entry = this.#hashes.get(hash);
    if (entry === undefined) {
      entry = { at: this.#hashes.size, fields: [] };
      this.#hashes.set(hash, entry);
    }
    const { at } = entry;
    const position = entry.fields.push(field) - 1;
    return (replies) => {
      const stored = (replies[at] as readonly (Buffer | null)[])[position] ?? null;
      return [{ stored, again: ["HGET", this.#prefix + hash, field] }];
    };
  }

  /** All fields and values of a hash, one cell each; the command that reads the cell again determines which fields are returned. */
  #all(hash: string): CellFinder {
    return this.#command(["HGETALL", this.#prefix + hash], (reply) => fieldCells(this.#prefix + hash, listReply(reply)));
  }

  #command(command: RedisCommand, cells: (reply: CommandReply) => readonly StoredCell[]): CellFinder {
    const position = this.#single.push(command) - 1;
    return (replies) => cells(present(replies[this.#hashes.size + position]));
  }
}

const PRESENT = Buffer.from([0]);

/** Cells of a hash read whole. */
export function fieldCells(key: string, fieldsAndValues: readonly Buffer[]): StoredCell[] {
  const cells: StoredCell[] = [];
  for (let i = 0; i + 1 < fieldsAndValues.length; i += 2)
    cells.push({ stored: present(fieldsAndValues[i + 1]), again: ["HGET", key, present(fieldsAndValues[i])] });
  return cells;
}

/** The field a cell of `fieldCells` is of. */
export function fieldOf(cell: StoredCell): Buffer {
  return present(cell.again)[2] as Buffer;
}

function rowOf(
  key: Exclude<RowKey, { kind: "journal" }>,
  payloads: readonly (Uint8Array | undefined)[],
  cells: readonly StoredCell[],
): FetchedRow {
  const first = payloads[0];
  switch (key.kind) {
    case "invocation": {
      const row = first ?? payloads[1];
      return { ...key, value: row === undefined ? undefined : decodeInvocation(row) };
    }
    case "entry":
      return { ...key, value: first === undefined ? undefined : decodeEntry(first) };
    case "lock":
      return { ...key, value: first === undefined ? undefined : decodeLock(first) };
    case "inbox":
      return { ...key, value: first === undefined ? undefined : decodeInbox(first) };
    case "state":
      return { ...key, value: first };
    case "stateOf":
      return { ...key, value: stateFrom(cells, payloads) };
    case "promise":
      return { ...key, value: first === undefined ? undefined : decodePromise(first) };
    case "promisesOf":
      return { ...key, value: promisesFrom(cells, payloads) };
    case "hasTimer":
      return { ...key, value: first !== undefined };
    case "dedup":
      return { ...key, value: first === undefined ? undefined : decodeNumber(first) };
    default:
      return unreachable(key);
  }
}

export function stateFrom(
  cells: readonly StoredCell[],
  payloads: readonly (Uint8Array | undefined)[],
): ReadonlyMap<string, Uint8Array> {
  const state: [string, Uint8Array][] = [];
  for (const [n, cell] of cells.entries()) {
    const value = payloads[n];
    if (value !== undefined) state.push([fieldOf(cell).toString("latin1"), value]);
  }
  return sortedState(state);
}

export function promisesFrom(
  cells: readonly StoredCell[],
  payloads: readonly (Uint8Array | undefined)[],
): ReadonlyMap<string, WorkflowPromise> {
  const promises = new Map<string, WorkflowPromise>();
  for (const [n, cell] of cells.entries()) {
    const row = payloads[n];
    if (row !== undefined) promises.set(fieldOf(cell).toString(), decodePromise(row));
  }
  return promises;
}

/** The first `length` entries, or all there are; pages hold about the same number of bytes. Rejects as `PartitionStore.readJournal` does. */
export async function readJournal(
  requester: PartitionReads,
  prefix: string,
  id: InvocationId,
  length: number,
  bytesMax?: number,
): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  const rowsFirst = bytesMax === undefined ? JOURNAL_ROWS_FIRST : JOURNAL_BOUNDED_ROWS_FIRST;
  const bound = new JournalBytes(bytesMax);
  let bytes = 0;
  while (entries.length < length) {
    const average = Math.max(1, bytes / Math.max(1, entries.length));
    const fitting = entries.length === 0 ? rowsFirst : Math.max(1, Math.floor(JOURNAL_PAGE_BYTES / average));
    const count = Math.min(fitting, JOURNAL_ROWS_MAX, length - entries.length);
    const range = ["XRANGE", `${prefix}j:${id}`, `${entries.length}-1`, "+", "COUNT", count] as const;
    const page = streamReply(await requester.one(range));
    const cells = page.map((stored): StoredCell => ({ stored, again: undefined }));
    for (const payload of await payloadsOf(requester, prefix, cells)) {
      invariant(payload !== undefined, "the chunks of a journal go with it");
      bytes += payload.length;
      const entry = decodeEntry(payload);
      bound.add(entry.body);
      entries.push(entry);
    }
    if (page.length < count) break;
  }
  return entries;
}
