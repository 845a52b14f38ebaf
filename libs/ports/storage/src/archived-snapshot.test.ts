import { describe, expect, test } from "@jest/globals";
import { EMPTY_BYTES, type InvocationId, PerdureError } from "@perdure/base";
import type { Completed, JournalEntry, Mutation } from "@perdure/state-machine";
import { anId, anInvocation, plainTarget, someFacts } from "@perdure/state-machine/testing";
import { MemoryArchive } from "./archive-memory.js";
import { archiveRecord, retainedUntilMs } from "./archive-record.js";
import { DELETED_GENERATIONS, deletionNoteName } from "./archived-generations.js";
import { ArchivedSnapshot } from "./archived-snapshot.js";
import { InvocationFields } from "./codec/invocation-fields.js";
import { MemoryKeyValue } from "./kv/key-value.js";
import { KvPartitionStore } from "./kv/kv-partition-store.js";
import { type Leader, lead } from "./testing/rows.js";

const NOW_MS = 2_000;
const ENTRIES: readonly JournalEntry[] = [0, 1, 2].map((n) => ({
  type: 0x400,
  body: new Uint8Array([n]),
  appendedAtMs: n,
}));

/** Counts its calls, and can be unavailable. */
class CountingArchive extends MemoryArchive {
  finds = 0;
  isAway = false;

  /** Runs between a look-up and its result. */
  duringFind: () => Promise<void> = async () => {};

  override async find(ids: readonly InvocationId[]) {
    this.finds++;
    if (this.isAway) throw new PerdureError("STO0001", "away");
    const rows = await super.find(ids);
    await this.duringFind();
    return rows;
  }
  override async *scan(filter: Parameters<MemoryArchive["scan"]>[0]) {
    if (this.isAway) throw new PerdureError("STO0001", "away");
    yield* super.scan(filter);
  }
}

/** A completed invocation with a journal of three entries. */
function completed(n: number, service = "S", createdAtMs = 1): Completed {
  const plain = anInvocation("completed", {
    facts: someFacts({
      id: anId(n),
      target: { ...plainTarget, service },
      createdAtMs,
      completionRetentionMs: 1_000_000,
      journalRetentionMs: 1_000_000,
    }),
  });
  return { ...plain, journal: { ...plain.journal, length: ENTRIES.length, outputIndex: 2 } };
}

const put = (invocation: Completed): Mutation => ({ kind: "putInvocation", invocation });
const record = (invocation: Completed) => archiveRecord(invocation, ENTRIES, []);

async function world() {
  const store = new KvPartitionStore(new MemoryKeyValue());
  const leader: Leader = await lead(store);
  const archive = new CountingArchive();
  const archived = (...some: Completed[]) => archive.put({ partition: 0, epoch: 1 }, some.map(record));
  return { store, leader, archive, archived, snapshot: new ArchivedSnapshot(store, archive, () => NOW_MS) };
}

async function idsOf(pages: AsyncIterable<readonly Uint8Array[]>): Promise<InvocationId[]> {
  const fields = new InvocationFields();
  const ids: InvocationId[] = [];
  for await (const rows of pages)
    for (const row of rows) {
      fields.load(row);
      ids.push(fields.invocationId);
    }
  return ids.sort();
}

const ids = (...numbers: number[]): InvocationId[] => numbers.map((n) => anId(n)).sort();

describe("partitions and their archive, read as one", () => {
  test("return every invocation once, wherever it is, also when it moves while a statement reads", async () => {
    const { leader, archived, snapshot } = await world();
    await leader.put({ kind: "putInvocation", invocation: anInvocation("invoked", { facts: someFacts({ id: anId(1) }) }) });
    await leader.put(put(completed(2)));
    await archived(completed(2), completed(3)); // Invocation 2 is in both, because its leader crashed between the two steps.
    expect(await idsOf(snapshot.invocationRows(0, "unfinished"))).toEqual(ids(1));
    await leader.put(put(completed(1)));
    await leader.put({ kind: "deleteInvocation", id: anId(1) });
    await archived(completed(1));
    expect(await idsOf(snapshot.invocationRows(0, "completed"))).toEqual(ids(2, 3)); // Invocation 1 was returned before.
  });

  test("may leave out services that were not requested", async () => {
    const { archived, snapshot } = await world();
    await archived(completed(1, "A"), completed(2, "B"), completed(3, "C"));
    expect(await idsOf(snapshot.invocationRows(0, "completed", new Set(["A", "C", "none"])))).toEqual(ids(1, 3));
  });

  test("return no generations that are over", async () => {
    const { leader, archived, snapshot } = await world();
    const short = completed(1);
    const expired: Completed = { ...short, facts: { ...short.facts, completionRetentionMs: 1, journalRetentionMs: 1 } };
    const deleted = completed(2);
    await archived(expired, deleted, completed(3));
    const stateKey = deletionNoteName(anId(2), retainedUntilMs(deleted));
    await leader.put({ kind: "putState", ...DELETED_GENERATIONS, stateKey, value: EMPTY_BYTES });
    expect(await idsOf(snapshot.invocationRows(0, "completed"))).toEqual(ids(3));
    expect(await Promise.all([1, 2, 3].map(async (n) => (await snapshot.invocationRow(0, anId(n))) !== undefined))).toEqual([
      false,
      false,
      true,
    ]);
    expect(await snapshot.readJournal(0, anId(2), 3)).toEqual([]);
    const state: unknown[] = [];
    for await (const row of snapshot.scanState(0, undefined)) state.push(row);
    expect(state).toEqual([]); // The note is not returned as state.
  });

  test("return no generation whose deletion is completed while it is looked up", async () => {
    const { leader, archive, archived, snapshot } = await world();
    const deleted = completed(1);
    await archived(deleted);
    const note = { ...DELETED_GENERATIONS, stateKey: deletionNoteName(anId(1), retainedUntilMs(deleted)) };
    await leader.put({ kind: "putState", ...note, value: EMPTY_BYTES });
    archive.duringFind = async () => {
      await archive.delete({ partition: 0, epoch: 1 }, [{ id: anId(1), retainedUntilMs: retainedUntilMs(deleted) }]);
      await leader.put({ kind: "deleteState", ...note });
    };
    expect(await snapshot.invocationRow(0, anId(1))).toBeUndefined();
  });

  test("return the journal from where it is; of an id that is used again, that of its later generation", async () => {
    const { leader, archived, snapshot } = await world();
    await archived(completed(1), completed(2));
    expect(await snapshot.readJournal(0, anId(1), 3)).toEqual(ENTRIES);
    expect(await snapshot.readJournal(0, anId(1), 2)).toEqual(ENTRIES.slice(0, 2));
    expect(await snapshot.events(0, anId(1))).toEqual([]);
    await leader.put({ kind: "putInvocation", invocation: anInvocation("invoked", { facts: someFacts({ id: anId(2) }) }) });
    await leader.put({ kind: "appendEntry", id: anId(2), index: 0, entry: ENTRIES[2] as JournalEntry });
    expect(await snapshot.readJournal(0, anId(2), 3)).toEqual(ENTRIES.slice(2));
  });

  test("query the archive in few requests for many ids", async () => {
    const { archive, archived, snapshot } = await world();
    const some = Array.from({ length: 50 }, (_, n) => completed(n + 1));
    await archived(...some);
    const rows = await Promise.all(some.map(({ facts }) => snapshot.invocationRow(0, facts.id)));
    expect(rows.every((row) => row !== undefined)).toBe(true);
    expect(archive.finds).toBeLessThan(4);
  });

  test("reject while the archive is unavailable; unfinished invocations are returned all the same", async () => {
    const { leader, archive, snapshot } = await world();
    await leader.put(put(completed(2)));
    await leader.put({ kind: "putInvocation", invocation: anInvocation("invoked", { facts: someFacts({ id: anId(1) }) }) });
    archive.isAway = true;
    expect(await idsOf(snapshot.invocationRows(0, "unfinished"))).toEqual(ids(1));
    expect(await snapshot.invocationRow(0, anId(2))).toBeDefined();
    await expect(idsOf(snapshot.invocationRows(0, "completed"))).rejects.toThrow("STO0001");
    await expect(snapshot.invocationRow(0, anId(9))).rejects.toThrow("STO0001");
    await expect(snapshot.readJournal(0, anId(9), 1)).rejects.toThrow("STO0001");
    archive.isAway = false;
    expect(await snapshot.invocationRow(0, anId(9))).toBeUndefined();
  });
});
