/** Copies of deletions end with the time to undo them, also when the process that made them has ended or the store was away. */
import { expect, test } from "@jest/globals";
import { PerdureError, silentLogger, systemRandom } from "@perdure/base";
import { createMemoryMetadataStore, deletedKey } from "@perdure/metadata";
import { VirtualClock } from "@perdure/testkit";
import type { BatchService } from "../src/batches/batches.js";
import { DELETED_COPIES_CHECK_MS, DELETED_COPIES_RETRY_MS } from "../src/limits.js";
import { DeletedCopies } from "../src/operations/deleted-copies.js";
import { Operations } from "../src/operations/operations.js";
import { storedOperations } from "../src/operations/record.js";
import { createScriptedPartitions } from "../src/testing/index.js";

const WINDOW_MS = 600_000;

function setup() {
  const store = createMemoryMetadataStore();
  const clock = new VirtualClock(1_795_000_000_000);
  let isAway = false;
  const checked = <T>(answer: () => Promise<T>): Promise<T> => {
    return isAway ? Promise.reject(new PerdureError("STO0001", "the database is away")) : answer();
  };
  const metadata = {
    get: (key: string) => store.get(key),
    list: (prefix: string) => checked(() => store.list(prefix)),
    write: (writes: Parameters<typeof store.write>[0]) => checked(() => store.write(writes)),
  };
  const open = () => new DeletedCopies({ metadata, clock, logger: silentLogger });
  const operationsWith = (copies: Pick<DeletedCopies, "kept">) => {
    const restoreDeleted = async () => "notKept" as const;
    const kept = { registry: { restoreDeleted }, schedules: { restore: restoreDeleted } };
    const parts = { partitions: createScriptedPartitions(), batches: {} as BatchService, copies };
    return new Operations({ ...parts, ...kept, metadata, clock, random: systemRandom }, WINDOW_MS);
  };
  /** A deletion of a schedule whose copy has a value. */
  const deleteBy = async (copies: Pick<DeletedCopies, "kept">): Promise<void> => {
    const deletion = { verb: "delete-schedule", subject: "schedule s", ids: [], copyBytes: 9 } as const;
    const { operation } = await operationsWith(copies).begin({ ...deletion, startedBy: "test", reason: undefined });
    await store.write([{ kind: "put", key: deletedKey(operation), value: "the copy", expectedVersion: 0 }]);
  };
  const passed = async (ms: number): Promise<void> => {
    clock.advanceBy(ms);
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  };
  const copyCount = async (): Promise<number> => (await store.list("deleted/")).length;
  const bytes = async () => (await storedOperations(store)).map(({ record }) => record.copyBytes);
  return { clock, open, deleteBy, passed, copyCount, bytes, away: (is: boolean) => (isAway = is) };
}

test("a copy is removed when its window ends, and its operation stays listed", async () => {
  const { clock, open, deleteBy, passed, copyCount, bytes } = setup();
  await using copies = open();
  await passed(0);
  await deleteBy(copies);
  await passed(WINDOW_MS / 2);
  await deleteBy(copies);
  await passed(WINDOW_MS / 2 - 1);
  expect(await copyCount()).toBe(2);
  await passed(1);
  expect([await copyCount(), (await bytes()).sort()]).toEqual([1, [0, 9]]);
  await passed(WINDOW_MS / 2);
  expect([await copyCount(), await bytes()]).toEqual([0, [0, 0]]);
  expect(clock.pendingTimers).toBe(1); // The next check, and no other.
});

test("a process that starts removes what ended while none ran, and waits for the end of the rest", async () => {
  const { clock, open, deleteBy, passed, copyCount } = setup();
  const before = open();
  await passed(0);
  await deleteBy(before);
  await passed(WINDOW_MS / 2);
  await deleteBy(before);
  await before[Symbol.asyncDispose]();
  expect(clock.pendingTimers).toBe(0);
  await passed(WINDOW_MS / 2);
  expect(await copyCount()).toBe(2);
  await using _after = open();
  await passed(0);
  expect(await copyCount()).toBe(1);
  await passed(WINDOW_MS / 2);
  expect(await copyCount()).toBe(0);
});

test("copies of a process that ended are removed by another one, at its next check", async () => {
  const { open, deleteBy, passed, copyCount } = setup();
  await using _other = open();
  await passed(0);
  await deleteBy({ kept: () => undefined });
  await passed(DELETED_COPIES_CHECK_MS);
  expect(await copyCount()).toBe(0);
});

test("while the store is away it is tried again", async () => {
  const { open, deleteBy, passed, copyCount, away } = setup();
  await using copies = open();
  await passed(0);
  await deleteBy(copies);
  away(true);
  await passed(WINDOW_MS);
  away(false);
  expect(await copyCount()).toBe(1);
  await passed(DELETED_COPIES_RETRY_MS);
  expect(await copyCount()).toBe(0);
});
