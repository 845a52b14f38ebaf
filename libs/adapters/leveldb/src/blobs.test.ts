/** Large rows and their files: which files exist when, which reads keep them, and how damage is reported. */
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { getEnvironmentData } from "node:worker_threads";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import type { KeyValue } from "@perdure/storage";
import { ClassicLevel } from "classic-level";
import { blobDirectory } from "./blob-reads.js";
import { openLevelKeyValue } from "./level-key-value.js";
import { openLevelReader } from "./level-reader.js";
import { BLOB_BYTES_MIN } from "./limits.js";
import { MARKER_BYTES, MARKER_KEY } from "./stored-value.js";
import { BLOB_FORMAT, FIRST_FORMAT, prepareStorageDirectory } from "./version-file.js";

const MIB = 1024 * 1024;
let root = "";
let directory = "";
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-blobs-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(() => {
  directory = join(root, String(count++), "level");
});

const open = async () => {
  await mkdir(join(directory, ".."), { recursive: true });
  return openLevelKeyValue(directory);
};

function large(seed: number, bytes = MIB): Uint8Array {
  const value = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) value[i] = (i >>> 10) * 7 + i + seed;
  return value;
}

const files = async (): Promise<string[]> => {
  const names = await readdir(blobDirectory(directory)).catch(() => []);
  return names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
};

/** Waits for the removal of files, which follows the write that frees them. */
async function untilFiles(expected: number): Promise<string[]> {
  for (let n = 0; n < 750 && (await files()).length !== expected; n++) await delay(20);
  return files();
}

const same = (actual: Uint8Array | undefined, expected: Uint8Array): boolean =>
  actual !== undefined && Buffer.compare(actual, expected) === 0;

async function first(pairs: AsyncIterable<readonly [string, Uint8Array]>): Promise<Uint8Array | undefined> {
  for await (const [, value] of pairs) return value;
  return undefined;
}

describe("blob files", () => {
  test("large rows are in files and small ones are not; every kind of read returns both", async () => {
    await using kv = await open();
    await kv.write(
      new Map([
        ["a", large(1)],
        ["b", utf8("small")],
      ] as const),
    );
    expect(await files()).toHaveLength(1);
    expect((await readFile(join(blobDirectory(directory), (await files())[0] as string))).equals(large(1))).toBe(true);
    expect(same(kv.get("a"), large(1))).toBe(true);
    expect(kv.get("b")).toEqual(utf8("small"));
    const [a, b, none] = await kv.getMany(["a", "b", "none"]);
    expect([same(a, large(1)), b, none]).toEqual([true, utf8("small"), undefined]);
    expect(same(await first(kv.scan("a", "b")), large(1))).toBe(true);
    const rows: Uint8Array[] = [];
    for await (const page of kv.values("", "z")) rows.push(...page);
    expect([rows.length, same(rows[0], large(1)), rows[1]]).toEqual([2, true, utf8("small")]);
    const keys: string[] = [];
    for await (const [key] of kv.scan("", "\u{10ffff}", { keysOnly: true })) keys.push(key);
    expect(keys).toEqual(["a", "b"]); // The driver's own rows are not returned.
  });

  test("bytes that several rows of a batch share are written once, and kept until the last of them is deleted", async () => {
    await using kv = await open();
    const body = large(2);
    const value = body.subarray(8, MIB - 100);
    await kv.write(
      new Map<string, readonly Uint8Array[]>([
        ["value", [utf8("head"), value, utf8("tail")]],
        ["body", [utf8("entry"), body]],
      ]),
    );
    const [file] = await files();
    expect(await files()).toHaveLength(1);
    expect((await readFile(join(blobDirectory(directory), file as string))).length).toBe(MIB);
    expect(same(kv.get("value"), new Uint8Array([...utf8("head"), ...value, ...utf8("tail")]))).toBe(true);
    await kv.write(new Map([["body", null]]));
    await delay(50);
    expect(await files()).toEqual([file]);
    expect(same((await kv.getMany(["value"]))[0]?.subarray(4, -4), value)).toBe(true);
    await kv.write(new Map([["value", utf8("small")]]));
    expect(await untilFiles(0)).toEqual([]);
    expect(kv.get("value")).toEqual(utf8("small"));
  });

  test("rows are read without their parts in files when only the first part is requested", async () => {
    await using kv = await open();
    await kv.write(
      new Map<string, Uint8Array | readonly Uint8Array[]>([
        ["a", [utf8("head"), large(1)]],
        ["b", large(2)],
        ["c", utf8("small")],
      ]),
    );
    await rm(join(blobDirectory(directory), (await files())[0] as string)); // Both parts are in the file.
    const rows = async (to: string) => {
      const values: Uint8Array[] = [];
      for await (const page of kv.values("", to, { firstParts: true })) values.push(...page);
      return values;
    };
    expect(await rows("b")).toEqual([utf8("head")]);
    await expect(rows("z")).rejects.toMatchObject({ code: "STO0003" }); // A row without a first part is read.
  });

  test("many payloads of one batch share a file", async () => {
    await using kv = await open();
    await kv.write(new Map(Array.from({ length: 8 }, (_, n) => [`k${n}`, large(n, BLOB_BYTES_MIN)] as const)));
    expect(await files()).toHaveLength(1);
    for (let n = 0; n < 8; n++) expect(same(kv.get(`k${n}`), large(n, BLOB_BYTES_MIN))).toBe(true);
  });

  test("staged bytes are in a file before their batch, which writes no other; unused ones are removed when their stage is disposed of", async () => {
    await using kv = await open();
    const [body, unused] = [large(3), large(4)];
    const [staged, abandoned] = await Promise.all([kv.staging.stage(body), kv.staging.stage(unused)]);
    const before = await files();
    await kv.write(new Map([["a", [utf8("head"), body.subarray(5)]]]));
    expect(await files()).toEqual(before);
    staged[Symbol.dispose]();
    abandoned[Symbol.dispose]();
    expect(same(kv.get("a")?.subarray(4), body.subarray(5))).toBe(true);
    await kv.write(new Map([["a", null]]));
    expect(await untilFiles(0)).toEqual([]);
  });

  test("a row that begins with the marker of references stays a row, even if a client knows the marker", async () => {
    {
      await using kv = await open();
      await kv.write(new Map([["a", large(5)]]));
    }
    const level = new ClassicLevel<string, Uint8Array>(directory, { valueEncoding: "view" });
    const marker = (await level.get(MARKER_KEY)) as Uint8Array;
    const reference = (await level.get("a")) as Uint8Array;
    await level.close();
    expect(marker).toHaveLength(MARKER_BYTES);
    await using kv = await open();
    await kv.write(
      new Map([
        ["forged", reference],
        ["marker", marker],
        ["longer", new Uint8Array([...marker, 1])],
      ]),
    );
    expect(kv.get("forged")).toEqual(reference);
    expect(kv.get("marker")).toEqual(marker);
    expect(kv.get("longer")).toEqual(new Uint8Array([...marker, 1]));
    expect(same(kv.get("a"), large(5))).toBe(true);
  });

  test("stored files are found after a restart, counted, and freed as before", async () => {
    let bytes: number;
    {
      await using kv = await open();
      await kv.write(
        new Map([
          ["a", large(6)],
          ["b", large(7)],
        ]),
      );
      await kv.write(new Map([["a", large(8)]]));
      bytes = await kv.storedBytes();
      expect(bytes).toBeGreaterThan(2 * MIB);
    }
    await using kv = await open();
    expect(same(kv.get("a"), large(8)) && same(kv.get("b"), large(7))).toBe(true);
    expect(await kv.storedBytes()).toBeGreaterThanOrEqual(2 * MIB);
    await kv.write(
      new Map([
        ["a", null],
        ["b", null],
      ]),
    );
    expect(await untilFiles(0)).toEqual([]);
    await kv.compact();
    expect(await kv.storedBytes()).toBeLessThan(MIB);
    await kv.write(new Map([["c", large(9)]]));
    expect(same(kv.get("c"), large(9))).toBe(true);
  });

  test("the version of the directory is raised with the first large row, and not before", async () => {
    const path = join(root, String(count++));
    directory = await prepareStorageDirectory({ path, setting: "base-dir", missing: "RT0009" });
    const format = async () =>
      (JSON.parse(await readFile(join(path, "perdure-format.json"), "utf8")) as { format: number }).format;
    await using kv = await openLevelKeyValue(directory);
    await kv.write(new Map([["a", large(1, BLOB_BYTES_MIN - 1)]]));
    expect(await format()).toBe(FIRST_FORMAT);
    await kv.write(new Map([["a", large(1)]]));
    expect(await format()).toBe(BLOB_FORMAT);
  });

  test("rows that an earlier version stored whole are read and replaced", async () => {
    await mkdir(join(directory, ".."), { recursive: true });
    const level = new ClassicLevel<string, Uint8Array>(directory, { valueEncoding: "view" });
    await level.put("old", large(1));
    await level.put("older", large(2));
    await level.close();
    await using kv = await open();
    expect(same(kv.get("old"), large(1))).toBe(true);
    await kv.write(new Map([["old", large(3)]]));
    expect(same(kv.get("old"), large(3)) && same(kv.get("older"), large(2))).toBe(true);
    expect(await files()).toHaveLength(1);
  });
});

describe("reads beside writes", () => {
  test("a scan that began before a large row was deleted still reads it, and its file is removed afterwards", async () => {
    await using kv = await open();
    await kv.write(
      new Map([
        ["a", utf8("first")],
        ["b", large(1)],
      ] as const),
    );
    const scan = kv.scan("", "z")[Symbol.asyncIterator]();
    await scan.next();
    await kv.write(new Map([["b", null]]));
    await delay(50);
    const next = await scan.next();
    expect(next.done !== true && same(next.value[1], large(1))).toBe(true);
    await scan.next();
    expect(await untilFiles(0)).toEqual([]);
  });

  test("a snapshot of a reader keeps files that were freed after it, until it is disposed of", async () => {
    await using kv = await open();
    await kv.write(new Map([["a", large(1)]]));
    await using reader = await openLevelReader(directory);
    {
      await using snapshot = reader.snapshot();
      await kv.write(new Map([["a", large(2)]]));
      await kv.write(new Map([["a", large(3)]]));
      await delay(300);
      expect(same(snapshot.get("a"), large(1))).toBe(true);
      expect(same((await snapshot.getMany(["a"]))[0], large(1))).toBe(true);
      expect(same(await first(snapshot.scan("", "z")), large(1))).toBe(true);
      for await (const [value] of snapshot.values("", "z")) expect(same(value, large(1))).toBe(true);
    }
    expect(await untilFiles(1)).toHaveLength(1);
    await using after = reader.snapshot();
    expect(same(after.get("a"), large(3))).toBe(true);
  });

  test("snapshots that follow each other without a gap do not keep files forever", async () => {
    await using kv = await open();
    await using reader = await openLevelReader(directory);
    await kv.write(new Map([["a", large(0)]]));
    let snapshot = reader.snapshot() as KeyValue;
    for (let n = 1; n <= 20; n++) {
      await kv.write(new Map([["a", large(n)]]));
      const next = reader.snapshot();
      expect(same(snapshot.get("a"), large(n - 1))).toBe(true);
      await snapshot[Symbol.asyncDispose]();
      snapshot = next;
    }
    expect((await files()).length).toBeLessThan(8);
    await snapshot[Symbol.asyncDispose]();
    expect(await untilFiles(1)).toHaveLength(1);
  });
});

describe("damage and a full disk", () => {
  async function stored(): Promise<string> {
    await using kv = await open();
    await kv.write(new Map([["a", large(1)]]));
    return join(blobDirectory(directory), (await files())[0] as string);
  }
  const everyRead = async (kv: KeyValue): Promise<void> => {
    expect(() => kv.get("a")).toThrow(expect.objectContaining({ code: "STO0003" }));
    await expect(kv.getMany(["a"])).rejects.toMatchObject({ code: "STO0003" });
    await expect(first(kv.scan("", "z"))).rejects.toMatchObject({ code: "STO0003" });
  };

  test("a missing file is found when the database is opened", async () => {
    await rm(await stored());
    await expect(open()).rejects.toMatchObject({
      code: "STO0003",
      message: expect.stringContaining("1 of 1 blob files are missing"),
    });
    await expect(open()).rejects.toMatchObject({ code: "STO0003" }); // The failed open left nothing open.
    expect(getEnvironmentData(`perdure level ${directory}`)).toBeUndefined();
  });

  test("reading a file that is missing, short or changed while the database is open fails as damage", async () => {
    const file = await stored();
    await using kv = await open();
    const bytes = await readFile(file);
    await truncate(file, MIB - 1);
    await everyRead(kv);
    bytes[MIB / 2] = (bytes[MIB / 2] as number) ^ 1;
    await writeFile(file, bytes);
    await everyRead(kv);
    await rm(file);
    await everyRead(kv);
  });

  test("a file that no row refers to is removed at the next start, and nothing else is", async () => {
    const file = await stored();
    await writeFile(join(blobDirectory(directory), "77.blob"), "never committed");
    await writeFile(join(blobDirectory(directory), "somebody's"), "else");
    await using kv = await open();
    expect((await readdir(blobDirectory(directory))).sort()).toEqual([file.split("/").at(-1), "somebody's"].sort());
    expect(same(kv.get("a"), large(1))).toBe(true);
  });

  test("a payload that cannot be written fails its batch, which stores nothing, and leaves no file", async () => {
    await using kv = await open();
    await kv.write(new Map([["a", large(1)]]));
    const [file] = await files();
    // The next file's name is taken: the file system refuses it, as a full one would.
    const next = join(blobDirectory(directory), `${Number.parseInt(file as string, 10) + 1}.blob`);
    await mkdir(next);
    await expect(
      kv.write(
        new Map([
          ["a", large(2)],
          ["b", utf8("small")],
        ] as const),
      ),
    ).rejects.toMatchObject({ code: "STO0001" });
    expect([same(kv.get("a"), large(1)), kv.get("b")]).toEqual([true, undefined]);
    await kv.write(new Map([["a", large(3)]]));
    expect(same(kv.get("a"), large(3))).toBe(true);
  });
});
