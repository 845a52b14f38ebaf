/** The contract of every `Archive`. The test file of each driver is one call to `describeArchive`. */
import { describe, expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import type { Completed, JournalEntry, JournalEvent } from "@perdure/state-machine";
import { anId, anInvocation, plainTarget, someFacts, workflowTarget } from "@perdure/state-machine/testing";
import type { Archive, ArchivedRow, ArchiveFilter } from "../archive.js";
import { archiveRecord } from "../archive-record.js";
import { decodeInvocation } from "../codec/invocation.js";
import { JournalTooLarge } from "../journal-too-large.js";

const LEADER = { partition: 0, epoch: 3 };
const DONE = { kind: "done" };
const ENTRIES: readonly JournalEntry[] = [
  { type: 0x400, body: new Uint8Array([0, 1, 0xff]), appendedAtMs: 5 },
  { type: 0x401, body: new Uint8Array(0), appendedAtMs: 6 },
];
const EVENT: JournalEvent = { kind: "paused", afterIndex: 0, atMs: 7, error: undefined };

interface RecordSpec {
  readonly service?: string;
  readonly createdAtMs?: number;
  readonly completedAtMs?: number;
  readonly retentionMs?: number;
  readonly isFailure?: boolean;
}

/** A completed invocation of a plain service, without journal. */
function completed(n: number, spec: RecordSpec = {}): Completed {
  const { service = "S", createdAtMs = 1_000, completedAtMs = 2_000, retentionMs = 60_000 } = spec;
  const target = { ...plainTarget, service };
  const outcome = spec.isFailure
    ? ({ kind: "failure", failure: { code: 500, message: "no", metadata: [] }, stacktrace: undefined } as const)
    : ({ kind: "success", value: new Uint8Array([n]) } as const);
  return anInvocation("completed", {
    facts: someFacts({ id: anId(n), target, createdAtMs, completionRetentionMs: retentionMs, journalRetentionMs: retentionMs }),
    journal: { length: 0, commands: 0, notifications: 0, outputIndex: -1, hasEvents: false },
    milestones: { scheduledAtMs: undefined, inboxedAtMs: undefined, runningAtMs: undefined, completedAtMs },
    outcome,
  });
}
const record = (n: number, spec: RecordSpec = {}) => archiveRecord(completed(n, spec), [], []);

async function scanned(archive: Archive, filter: ArchiveFilter): Promise<InvocationId[]> {
  const rows: ArchivedRow[] = [];
  for await (const page of archive.scan(filter)) rows.push(...page);
  return rows.map(({ id }) => id);
}

/** `open` returns an archive without data, separate from any opened before. */
export function describeArchive(driver: string, open: () => Promise<Archive>): void {
  describe(`Archive on ${driver}`, () => {
    test("returns the records byte by byte as they were put, however often they were put", async () => {
      await using archive = await open();
      const whole = { ...completed(1), journal: { length: 2, commands: 2, notifications: 0, outputIndex: 1, hasEvents: true } };
      const put = archiveRecord(whole, ENTRIES, [EVENT]);
      expect(await archive.put(LEADER, [put, record(2)])).toEqual(DONE);
      expect(await archive.put(LEADER, [put])).toEqual(DONE);
      const [row, ...others] = await archive.find([anId(1), anId(9)]);
      expect(others).toEqual([]);
      expect(row).toMatchObject({ id: anId(1), retainedUntilMs: 62_000, expires: true });
      expect([...(row as ArchivedRow).row]).toEqual([...put.row]);
      expect(decodeInvocation((row as ArchivedRow).row)).toMatchObject({ status: "completed", outcome: whole.outcome });
      const entries = await archive.journal(anId(1));
      expect(entries.map((each) => ({ ...each, body: [...each.body] }))).toEqual(
        ENTRIES.map((each) => ({ ...each, body: [...each.body] })),
      );
      expect(await archive.events(anId(1))).toEqual([EVENT]);
      expect([await archive.journal(anId(2)), await archive.events(anId(9)), await archive.find([])]).toEqual([[], [], []]);
    });

    test("rejects a journal with more bytes than the caller permits", async () => {
      await using archive = await open();
      const whole = { ...completed(1), journal: { length: 2, commands: 2, notifications: 0, outputIndex: 1, hasEvents: false } };
      await archive.put(LEADER, [archiveRecord(whole, ENTRIES, [])]);
      const bytes = ENTRIES.reduce((sum, { body }) => sum + body.length, 0);
      expect(await archive.journal(anId(1), bytes)).toHaveLength(ENTRIES.length);
      for (const bytesMax of [bytes - 1, 0]) await expect(archive.journal(anId(1), bytesMax)).rejects.toThrow(JournalTooLarge);
      const large = { type: 0x400, body: new Uint8Array(2 * 1024 * 1024), appendedAtMs: 5 };
      await archive.put(LEADER, [archiveRecord(whole, [large, large], [])]);
      await expect(archive.journal(anId(1), 1_000)).rejects.toThrow(JournalTooLarge);
      expect(await archive.journal(anId(1), 2 * large.body.length)).toHaveLength(2);
    });

    test("rejects writes and deletions of a leader that was deposed", async () => {
      await using archive = await open();
      await archive.put(LEADER, [record(1)]);
      expect(await archive.put({ partition: 0, epoch: 2 }, [record(2)])).toEqual({ kind: "fenced", by: 3 });
      const generation = { id: anId(1), retainedUntilMs: 62_000 };
      expect(await archive.delete({ partition: 0, epoch: 2 }, [generation])).toEqual({ kind: "fenced", by: 3 });
      expect(await archive.put({ partition: 1, epoch: 1 }, [record(3)])).toEqual(DONE);
      expect((await scanned(archive, {})).sort()).toEqual([anId(1), anId(3)].sort());
      expect(await archive.delete({ partition: 0, epoch: 4 }, [])).toEqual(DONE);
      expect(await archive.put(LEADER, [record(2)])).toEqual({ kind: "fenced", by: 4 });
    });

    test("deletes the given generation and no other generation of the id", async () => {
      await using archive = await open();
      await archive.put(LEADER, [record(1), record(2)]);
      await archive.delete(LEADER, [
        { id: anId(1), retainedUntilMs: 62_001 },
        { id: anId(2), retainedUntilMs: 62_000 },
        { id: anId(3), retainedUntilMs: 62_000 },
      ]);
      expect(await scanned(archive, {})).toEqual([anId(1)]);
    });

    test("keeps the newest put of an id", async () => {
      await using archive = await open();
      await archive.put(LEADER, [record(1)]);
      await archive.put(LEADER, [record(1, { completedAtMs: 3_000, isFailure: true })]);
      expect(await archive.find([anId(1)])).toMatchObject([{ retainedUntilMs: 63_000 }]);
      expect(await scanned(archive, { isFailure: false })).toEqual([]);
    });

    test("expires records whose retention is over page by page, and leaves those that their leaders delete", async () => {
      await using archive = await open();
      const run = anInvocation("completed", { ...completed(5), facts: someFacts({ id: anId(5), target: workflowTarget("k") }) });
      const early = record(1, { retentionMs: 10 });
      await archive.put(LEADER, [
        early,
        record(2, { retentionMs: 20 }),
        record(3, { retentionMs: 21 }),
        archiveRecord(run, [], []),
      ]);
      expect(await archive.expire(2_009, 10)).toBe(0);
      expect(await archive.expire(2_020, 1)).toBe(1);
      expect(await archive.expire(2_020, 10)).toBe(1);
      expect(await archive.expire(2_020, 10)).toBe(0);
      expect((await scanned(archive, {})).sort()).toEqual([anId(3), anId(5)].sort());
      expect(await archive.expire(Number.MAX_SAFE_INTEGER, 10)).toBe(1);
      expect(await archive.find([anId(5)])).toMatchObject([{ expires: false }]);
    });

    test("scans by partition, service, outcome and time of creation, oldest first, over many pages", async () => {
      await using archive = await open();
      const many = Array.from({ length: 700 }, (_, n) =>
        record(n + 1, { createdAtMs: 1_000 + Math.floor(n / 2), service: n % 3 === 0 ? "T" : "S", isFailure: n % 5 === 0 }),
      );
      await archive.put(LEADER, many);
      await archive.put({ partition: 7, epoch: 1 }, [record(1_000, { createdAtMs: 900 })]);
      expect(await scanned(archive, { partition: 7 })).toEqual([anId(1_000)]);
      const all = await scanned(archive, {});
      expect([all.length, all[0]]).toEqual([701, anId(1_000)]);
      expect(new Set(all).size).toBe(701);
      const of = (filter: (n: number) => boolean) => many.filter((_, n) => filter(n)).map(({ id }) => id);
      const times = new Map(many.map(({ id, createdAtMs }) => [id, createdAtMs]));
      const ids = await scanned(archive, { partition: 0, service: "T" });
      expect(ids.map((id) => times.get(id))).toEqual(ids.map((id) => times.get(id)).sort((a, b) => Number(a) - Number(b)));
      expect([...ids].sort()).toEqual(of((n) => n % 3 === 0).sort());
      const range = { createdFromMs: 1_010, createdToMs: 1_020, isFailure: true, service: "S" };
      expect([...(await scanned(archive, range))].sort()).toEqual(
        of((n) => n >= 20 && n < 40 && n % 5 === 0 && n % 3 !== 0).sort(),
      );
    });
  });
}
