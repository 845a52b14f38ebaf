/** Several writers of one database, here in one thread: what they share, and what each has of its own. */
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { KvPartitionStore } from "@perdure/storage";
import { describePartitionStore } from "@perdure/storage/testing";
import { ClassicLevel } from "classic-level";
import { blobDirectory } from "./blob-reads.js";
import { COMMIT_LOG_DEFAULT } from "./commit-log/level-commits.js";
import { openLevelKeyValue, openLevelWriter } from "./level-key-value.js";
import { openLevelReader } from "./level-reader.js";
import type { LevelStore } from "./level-store.js";
import { ReadHolds } from "./read-holds.js";
import { MARKER_KEY } from "./stored-value.js";
import { BLOB_FORMAT, prepareStorageDirectory } from "./version-file.js";

const LARGE = 300_000;
let root = "";
let directory = "";
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-writers-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));
const fresh = async (): Promise<void> => {
  directory = join(root, String(count++), "level");
  await mkdir(join(directory, ".."));
};
beforeEach(fresh);

const large = (n: number): Uint8Array => new Uint8Array(LARGE).fill(n);
const files = (): Promise<string[]> => readdir(blobDirectory(directory));
async function untilFiles(expected: number): Promise<number> {
  for (let n = 0; n < 750 && (await files()).length !== expected; n++) await delay(20);
  return (await files()).length;
}
const isEqual = (row: Uint8Array | undefined, n: number): boolean => Buffer.compare(row ?? utf8(""), large(n)) === 0;

/** The writer of the rows whose keys have the prefix. */
const owning =
  (prefix: string) =>
  (key: string): boolean =>
    key.startsWith(prefix);

/** Writer 0 of rows with a, writer 1 of rows with b. */
class Two implements AsyncDisposable {
  readonly a: LevelStore;
  readonly b: LevelStore;

  private constructor(a: LevelStore, b: LevelStore) {
    this.a = a;
    this.b = b;
  }

  static async open(): Promise<Two> {
    const a = await openLevelKeyValue(directory, COMMIT_LOG_DEFAULT, { writers: 2, isOwn: owning("a") });
    return new Two(a, await openLevelWriter(directory, { writer: 1, isOwn: owning("b") }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.b[Symbol.asyncDispose]();
    await this.a[Symbol.asyncDispose]();
  }
}

/** The store of a further writer, which closes writer 0 after it. */
async function furtherStore(): Promise<KvPartitionStore> {
  const first = await openLevelKeyValue(directory, COMMIT_LOG_DEFAULT, { writers: 2, isOwn: () => false });
  const store = new KvPartitionStore(await openLevelWriter(directory, { writer: 1, isOwn: () => true }));
  const dispose = store[Symbol.asyncDispose].bind(store);
  return Object.assign(store, {
    async [Symbol.asyncDispose]() {
      await dispose();
      await first[Symbol.asyncDispose]();
    },
  });
}

describePartitionStore("a further writer of LevelDB", {
  open: async () => {
    await fresh();
    return furtherStore();
  },
  reopen: furtherStore,
});

describe("several writers of a database", () => {
  test("read the rows of each other, large ones, too, and so do a reader and the next start with one writer", async () => {
    {
      await using two = await Two.open();
      await Promise.all([two.a.write(new Map([["a1", utf8("small")]])), two.b.write(new Map([["b1", large(1)]]))]);
      await two.a.write(new Map([["a2", large(2)]]));
      for (const writer of [two.a, two.b]) {
        expect([writer.get("a1"), isEqual(writer.get("b1"), 1), isEqual(writer.get("a2"), 2)]).toEqual([
          utf8("small"),
          true,
          true,
        ]);
        const [b1, a2] = await writer.getMany(["b1", "a2"]);
        expect([isEqual(b1, 1), isEqual(a2, 2)]).toEqual([true, true]);
      }
      await using reader = await openLevelReader(directory);
      await using snapshot = reader.snapshot();
      expect([isEqual(snapshot.get("b1"), 1), isEqual(snapshot.get("a2"), 2)]).toEqual([true, true]);
    }
    await using kv = await openLevelKeyValue(directory);
    expect([kv.get("a1"), isEqual(kv.get("b1"), 1), isEqual(kv.get("a2"), 2)]).toEqual([utf8("small"), true, true]);
    await kv.write(new Map([...["a2", "b1"].map((key) => [key, null] as const)]));
    expect(await untilFiles(0)).toBe(0);
  });

  test("store their first large rows at the same moment with one marker and files of different names", async () => {
    directory = await prepareStorageDirectory({ path: join(root, String(count++)), setting: "base-dir", missing: "RT0009" });
    {
      await using two = await Two.open();
      await Promise.all([two.a.write(new Map([["a", large(1)]])), two.b.write(new Map([["b", large(2)]]))]);
      expect((await files()).length).toBe(2);
      expect([isEqual(two.b.get("a"), 1), isEqual(two.a.get("b"), 2)]).toEqual([true, true]);
    }
    const format = JSON.parse(await readFile(join(directory, "../perdure-format.json"), "utf8")) as { format: number };
    expect(format.format).toBe(BLOB_FORMAT);
    await using two = await Two.open();
    expect([isEqual(two.b.get("a"), 1), isEqual(two.a.get("b"), 2)]).toEqual([true, true]);
  });

  test("store no row that could be read as a reference, from the first large row of any writer on", async () => {
    await using two = await Two.open();
    await two.a.write(new Map([["a", large(1)]]));
    const level = new ClassicLevel<string, Uint8Array>(directory, { valueEncoding: "view" });
    await level.open({ multithreading: true });
    const [marker, reference] = [level.getSync(MARKER_KEY), level.getSync("a")] as [Uint8Array, Uint8Array];
    await level.close();
    await two.b.write(
      new Map([
        ["b1", marker],
        ["b2", reference],
      ]),
    );
    for (const writer of [two.a, two.b]) expect([writer.get("b1"), writer.get("b2")]).toEqual([marker, reference]);
  });

  test.each(["ab", "ba"])("remove a file of an earlier start when no row of any writer refers to it (%s)", async (order) => {
    {
      await using kv = await openLevelKeyValue(directory);
      await kv.write(new Map(["a1", "a2", "b1", "a3"].map((key, n) => [key, large(n)])));
    }
    expect((await files()).length).toBe(1);
    await using two = await Two.open();
    const deleteA = () => two.a.write(new Map(["a1", "a2", "a3"].map((key) => [key, null])));
    const deleteB = () => two.b.write(new Map([["b1", null]]));
    if (order === "ab") {
      await deleteA();
      await delay(300);
      expect([(await files()).length, isEqual(two.b.get("b1"), 2)]).toEqual([1, true]);
      await deleteB();
    } else {
      await deleteB();
      await two.a.write(new Map([["a2", null]]));
      await delay(300);
      expect([(await files()).length, isEqual(two.a.get("a1"), 0), isEqual(two.a.get("a3"), 3)]).toEqual([1, true, true]);
      await deleteA();
    }
    expect(await untilFiles(0)).toBe(0);
  });

  test("keep files that any of them reads, or that a reader's snapshot has", async () => {
    await using two = await Two.open();
    await two.a.write(new Map([["a", utf8("small")]]));
    await two.b.write(new Map([["b", large(1)]]));
    await using reader = await openLevelReader(directory);
    const snapshot = reader.snapshot();
    const scan = two.a.scan("", "z")[Symbol.asyncIterator]();
    await scan.next();
    await two.b.write(new Map([["b", large(2)]]));
    await delay(300);
    expect(isEqual(snapshot.get("b"), 1)).toBe(true);
    await snapshot[Symbol.asyncDispose]();
    await delay(300);
    const next = await scan.next();
    expect(next.done !== true && isEqual(next.value[1], 1)).toBe(true);
    await scan.next();
    expect(await untilFiles(1)).toBe(1);
    expect(isEqual(two.a.get("b"), 2)).toBe(true);
  });

  test("hold the files of a row of another writer while they read it", async () => {
    await using two = await Two.open();
    await two.b.write(new Map([["b", large(1)]]));
    const { hold } = ReadHolds.prototype;
    let holdCount = 0;
    ReadHolds.prototype.hold = function (this: ReadHolds) {
      holdCount++;
      return hold.call(this);
    };
    try {
      expect([isEqual(two.b.get("b"), 1), holdCount]).toEqual([true, 0]);
      expect([isEqual(two.a.get("b"), 1), holdCount]).toEqual([true, 1]);
    } finally {
      ReadHolds.prototype.hold = hold;
    }
    await two.b.write(new Map([["b", null]]));
    expect(await untilFiles(0)).toBe(0); // The read has ended.
  });

  test("count their batches and stored bytes together", async () => {
    await using two = await Two.open();
    const before = await two.a.storedBytes();
    await two.b.write(new Map([["b", large(1)]]));
    await two.a.write(new Map([["a", large(2)]]));
    expect([two.a.batches, two.b.batches]).toEqual([2, 2]);
    for (const writer of [two.a, two.b]) expect((await writer.storedBytes()) - before).toBeGreaterThanOrEqual(2 * LARGE);
    await two.a.write(new Map([["a", null]]));
    expect(await untilFiles(1)).toBe(1);
    while ((await two.b.storedBytes()) - before >= 2 * LARGE) await delay(20);
  });

  test("are refused without writer 0, a second time, and beyond their number", async () => {
    const open = (writer: number) => openLevelWriter(directory, { writer, isOwn: owning("b") });
    await expect(open(1)).rejects.toMatchObject({ code: "RT0005" });
    {
      await using _two = await Two.open();
      await expect(open(1)).rejects.toMatchObject({ code: "RT0005" });
      await expect(open(2)).rejects.toMatchObject({ code: "RT0005" });
    }
    await expect(open(1)).rejects.toMatchObject({ code: "RT0005" });
    const log = { ...COMMIT_LOG_DEFAULT, enabled: true };
    await expect(openLevelKeyValue(directory, log, { writers: 2, isOwn: owning("a") })).rejects.toThrow("commit log");
  });

  test("can be closed and opened again while writer 0 is open, which is closed last", async () => {
    const two = await Two.open();
    await expect(two.a[Symbol.asyncDispose]()).rejects.toMatchObject({ code: "STO0001" });
    await two.b.write(new Map([["b", large(1)]]));
    await two.b[Symbol.asyncDispose]();
    const again = await openLevelWriter(directory, { writer: 1, isOwn: owning("b") });
    await again.write(new Map([["b", null]]));
    expect(await untilFiles(0)).toBe(0);
    await again[Symbol.asyncDispose]();
    await two.a[Symbol.asyncDispose]();
    await using kv = await openLevelKeyValue(directory);
    expect(kv.get("b")).toBeUndefined();
  });
});
