import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { type KeyValue, KvPartitionStore } from "@perdure/storage";
import { describePartitionStore } from "@perdure/storage/testing";
import { COMMIT_LOG_DEFAULT, type CommitLogSettings } from "./commit-log/level-commits.js";
import { openLevelKeyValue } from "./level-key-value.js";
import type { LevelStore } from "./level-store.js";

let root = "";
let directory = "";
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-level-"));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

function fresh(commitLog?: CommitLogSettings): Promise<LevelStore> {
  directory = join(root, String(count++));
  return openLevelKeyValue(directory, commitLog);
}

describePartitionStore("LevelDB with a synced log of its own", {
  open: async () => new KvPartitionStore(await fresh()),
  reopen: async () => new KvPartitionStore(await openLevelKeyValue(directory)),
});

const WITH_COMMIT_LOG = { ...COMMIT_LOG_DEFAULT, enabled: true };
describePartitionStore("LevelDB behind a commit log", {
  open: async () => new KvPartitionStore(await fresh(WITH_COMMIT_LOG)),
  reopen: async () => new KvPartitionStore(await openLevelKeyValue(directory, WITH_COMMIT_LOG)),
});

async function rows(kv: KeyValue, from: string, to: string, options?: { limit?: number; keysOnly?: boolean }) {
  const pairs: string[] = [];
  for await (const [key, value] of kv.scan(from, to, options))
    pairs.push(`${key}=${options?.keysOnly ? "" : Buffer.from(value)}`);
  return pairs;
}

describe("LevelDB as a key-value engine", () => {
  test("keys of chars 0 to 255 are ordered as JavaScript orders them, and so is the bound above them", async () => {
    await using kv = await fresh();
    const keys = ["a", "a\0", "a\x01", "a\x7f", "a\x80", "a\xc3", "a\xff", "a\xff\xff", "b"];
    await kv.write(new Map([...keys].reverse().map((key) => [key, utf8("v")])));
    expect(await rows(kv, "a", "a\u0100", { keysOnly: true })).toEqual(keys.slice(0, -1).map((key) => `${key}=`));
    expect(await rows(kv, "a\x80", "a\xff", { keysOnly: true })).toEqual(["a\x80=", "a\xc3="]);
  });

  test("a scan stops at its limit and reads the database as of its beginning, page after page", async () => {
    await using kv = await fresh();
    const key = (n: number) => `k${String(n).padStart(4, "0")}`;
    await kv.write(new Map(Array.from({ length: 700 }, (_, n) => [key(n), utf8(`${n}`)])));
    expect(await rows(kv, "k", "l", { limit: 300 })).toHaveLength(300);
    const scan = kv.scan("k", "l")[Symbol.asyncIterator]();
    const first = await scan.next();
    expect(first.value?.[0]).toBe(key(0));
    await kv.write(new Map([...Array(700).keys()].map((n) => [key(n), null])));
    let rowCount = 1;
    for (let next = await scan.next(); next.done !== true; next = await scan.next()) rowCount++;
    expect(rowCount).toBe(700);
    expect(await rows(kv, "k", "l")).toEqual([]);
  });

  test("one write puts and deletes together; deleting a missing key has no effect", async () => {
    await using kv = await fresh();
    await kv.write(new Map([["a", utf8("1")]]));
    await kv.write(
      new Map([
        ["a", null],
        ["b", utf8("2")],
        ["never", null],
      ] as const),
    );
    expect(kv.get("a")).toBeUndefined();
    expect(await kv.getMany(["a", "b"])).toEqual([undefined, utf8("2")]);
    await kv.write(new Map());
    expect(await rows(kv, "", "z")).toEqual(["b=2"]);
  });

  test("a batch of large values lets the event loop run other tasks in between, and stays one batch", async () => {
    await using kv = await fresh();
    const value = randomBytes(3_000_000);
    let turns = 0;
    let sawSome = false;
    const written = kv.write(new Map(Array.from({ length: 6 }, (_, n) => [`k${n}`, value] as const)));
    const counting = setInterval(() => {
      turns++;
      sawSome ||= kv.get("k0") !== undefined && kv.get("k5") === undefined;
    }, 0);
    await written;
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
    expect(sawSome).toBe(false);
    expect(Buffer.compare(kv.get("k5") ?? Buffer.alloc(0), value)).toBe(0);
  });

  test("a batch of many rows lets the event loop run other tasks, too", async () => {
    await using kv = await fresh();
    const all = Array.from({ length: 10_000 }, (_, n) => `k${n}`);
    await kv.write(new Map(all.map((key) => [key, utf8("v")] as const)));
    let turns = 0;
    const count = (): void => {
      turns++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    // Until the last row was taken from the map, the event loop could run only between pieces: LevelDB writes after that.
    let batched = 0;
    const deleted = new Map(all.map((key) => [key, null] as const));
    const entries = deleted.entries.bind(deleted);
    deleted[Symbol.iterator] = function* () {
      for (const row of entries()) {
        batched = turns;
        yield row;
      }
    } as never;
    await kv.write(deleted);
    clearImmediate(counting);
    expect(batched).toBe(2);
    expect(await rows(kv, "", "z")).toEqual([]);
  });

  test("the stored bytes include the latest writes", async () => {
    await using kv = await openLevelKeyValue(join(root, "sized"));
    const before = await kv.storedBytes();
    await kv.write(new Map([["a", new Uint8Array(100_000).fill(1)]]));
    expect((await kv.storedBytes()) - before).toBeGreaterThanOrEqual(100_000);
  });

  test("the stored bytes include the files of the commit log, whether it is used or was left behind", async () => {
    const logBytes = 4 * 1024 * 1024;
    {
      await using kv = await fresh(WITH_COMMIT_LOG);
      const before = await kv.storedBytes();
      await kv.write(new Map([["a", utf8("1")]]));
      const used = (await kv.storedBytes()) - before;
      expect([used >= logBytes, used < logBytes + 100_000]).toEqual([true, true]);
    }
    await using kv = await openLevelKeyValue(directory);
    expect(await kv.storedBytes()).toBeGreaterThanOrEqual(logBytes);
    await rm(`${directory}-log`, { recursive: true });
    expect(await kv.storedBytes()).toBeLessThan(100_000);
  });

  test("compacting frees the space of deleted data and keeps the rest", async () => {
    await using kv = await openLevelKeyValue(join(root, "compacted"));
    const keys = Array.from({ length: 64 }, (_, i) => `k${i}`);
    const value = randomBytes(100_000); // Random, so that it cannot be compressed.
    for (const key of keys) await kv.write(new Map([[key, value]]));
    expect(kv.batches).toBe(64);
    await kv.write(new Map(keys.slice(1).map((key) => [key, null])));
    await kv.compact();
    expect(await kv.storedBytes()).toBeLessThan(1_000_000);
    expect(kv.get("k0")).toEqual(new Uint8Array(value));
    expect(kv.batches).toBe(65);
  });

  test("a directory that another process has open is refused with RT0005", async () => {
    await using _holder = await fresh();
    await expect(openLevelKeyValue(directory)).rejects.toMatchObject({ code: "RT0005" });
  });

  test("a directory that cannot be made is STO0001", async () => {
    await using _kv = await fresh();
    await expect(openLevelKeyValue(join(directory, "CURRENT", "below a file"))).rejects.toMatchObject({ code: "STO0001" });
  });

  test("writing to a closed database is a PerdureError", async () => {
    const kv = await fresh();
    await kv[Symbol.asyncDispose]();
    await expect(kv.write(new Map([["a", utf8("1")]]))).rejects.toMatchObject({ code: "STO0001" });
  });
});
