/** How a commit log is used: when it begins, what it does to the directory, what refuses a start, and what happens without space. */
import { copyFileSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { fromUtf8, utf8 } from "@perdure/base";
import { ClassicLevel } from "classic-level";
import { copyDatabase } from "../../test/power-cut.js";
import { DatabaseMemory } from "../database-memory.js";
import { openLevelKeyValue } from "../level-key-value.js";
import { openLevelReader } from "../level-reader.js";
import { prepareStorageDirectory } from "../version-file.js";
import { SEGMENT_HEADER_BYTES } from "./format.js";
import type { CommitLogSettings } from "./level-commits.js";
import { type LogFiles, logFilesIn } from "./log-files.js";

const SEGMENT_BYTES = 64 * 1024;
let root = "";
let path = "";
let directory = "";
let count = 0;
const causes: unknown[] = [];
const settings: CommitLogSettings = {
  enabled: true,
  segmentBytesMax: SEGMENT_BYTES,
  onUnavailable: (cause) => causes.push(cause),
};

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-commit-log-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(async () => {
  causes.length = 0;
  path = join(root, String(count++));
  directory = await prepareStorageDirectory({ path, setting: "base-dir", missing: "RT0009" });
});

const open = (overrides: Partial<CommitLogSettings> = {}) => openLevelKeyValue(directory, { ...settings, ...overrides });
const row = (n: number): Map<string, Uint8Array> => new Map([["n", utf8(`${n}`)]]);
const format = async (of = path): Promise<number> => {
  const { format } = JSON.parse(await readFile(join(of, "perdure-format.json"), "utf8")) as { format: number };
  return format;
};
const segments = async (): Promise<string[]> => (await readdir(`${directory}-log`)).filter((name) => name.endsWith(".log"));
const isNamed = async (): Promise<boolean> => (await readdir(directory)).includes("commit-log.json");

/** The directory as a crash at this moment leaves it, and where it is. */
function crashed(): string {
  const copy = join(root, `crashed-${count++}`);
  copyDatabase(directory, copy);
  return copy;
}

async function valueIn(copy: string, key = "n"): Promise<string | undefined> {
  await using kv = await openLevelKeyValue(join(copy, "level"), settings);
  const value = kv.get(key);
  return value === undefined ? undefined : fromUtf8(value);
}

describe("a database with a commit log", () => {
  test("begins the log with the first batch, and leaves a directory that earlier versions read", async () => {
    {
      await using kv = await open();
      expect([kv.get("n"), await isNamed(), await format()]).toEqual([undefined, false, 1]);
      await kv.write(row(1));
      expect([await isNamed(), await format(), await segments()]).toEqual([true, 3, ["1.log"]]);
    }
    expect([await isNamed(), await format()]).toEqual([false, 1]);
    const level = new ClassicLevel<string, Uint8Array>(directory, { valueEncoding: "view" });
    expect(await level.get("n")).toEqual(utf8("1"));
    await level.close();
  });

  test("opens a database without one, and continues after each start", async () => {
    {
      await using kv = await open({ enabled: false });
      await kv.write(row(1));
      expect([await isNamed(), await format()]).toEqual([false, 1]);
    }
    for (const n of [2, 3]) {
      await using kv = await open();
      expect(kv.get("n")).toEqual(utf8(`${n - 1}`));
      await kv.write(row(n));
    }
    await using kv = await open({ enabled: false });
    expect(kv.get("n")).toEqual(utf8("3"));
  });

  test("stores after a crash what only the log has, with and without the setting", async () => {
    await using kv = await open();
    await kv.write(row(1));
    await kv.write(new Map([["gone", utf8("x")]]));
    await kv.write(new Map([["gone", null]]));
    for (const enabled of [true, false]) {
      const copy = crashed();
      for (const name of await readdir(join(copy, "level")))
        if (/^\d+\.log$/.test(name)) await writeFile(join(copy, "level", name), "");
      expect(await format(copy)).toBe(3);
      await using again = await openLevelKeyValue(join(copy, "level"), { ...settings, enabled });
      expect([again.get("n"), again.get("gone")]).toEqual([utf8("1"), undefined]);
      expect(await format(copy)).toBe(1);
    }
  });

  test("has its format when a large payload is stored with the first batch, and that of the payload afterwards", async () => {
    {
      await using kv = await open();
      const staging = kv.staging.stage(new Uint8Array(1024 * 1024));
      await kv.write(row(1));
      using _staged = await staging;
      expect([await isNamed(), await format(), causes]).toEqual([true, 3, []]);
    }
    expect([await isNamed(), await format()]).toEqual([false, 2]);
  });

  test.each([true, false])("ends a format that a crash left behind the end of the log (commit-log = %s)", async (enabled) => {
    await writeFile(join(path, "perdure-format.json"), '{"format":3}');
    await using _kv = await open({ enabled });
    expect(await format()).toBe(1);
  });

  test("switches segments under load and keeps two or three files", async () => {
    await using kv = await open();
    const value = new Uint8Array(9_000).fill(7);
    for (let n = 0; n < 60; n++) await kv.write(new Map([[`k${n}`, value], ...row(n)]));
    expect((await readdir(`${directory}-log`)).length).toBeLessThanOrEqual(5);
    for (const name of await segments()) expect((await stat(join(`${directory}-log`, name))).size).toBe(SEGMENT_BYTES);
    expect(await valueIn(crashed())).toBe("59");
    expect(causes).toEqual([]);
  });

  test("stores a batch that is larger than a segment, also as the first one", async () => {
    await using kv = await open();
    const value = new Uint8Array(SEGMENT_BYTES).fill(1);
    const large = (name: string) => Array.from({ length: 3 }, (_, n) => [`${name}${n}`, value] as const);
    await kv.write(new Map([...large("first"), ...row(1)]));
    await kv.write(row(2));
    await kv.write(new Map([...large("second"), ...row(3)]));
    const copy = crashed();
    expect(await valueIn(copy)).toBe("3");
    await using again = await openLevelKeyValue(join(copy, "level"), settings);
    expect((await again.getMany(["first0", "first2", "second2"])).map((each) => each?.length)).toEqual(
      Array(3).fill(SEGMENT_BYTES),
    );
  });

  test("has segments of a useful size, whatever the setting says", async () => {
    await using kv = await open({ segmentBytesMax: 1 });
    for (let n = 0; n < 3; n++) await kv.write(row(n));
    expect((await stat(join(`${directory}-log`, "1.log"))).size).toBe(SEGMENT_BYTES);
    expect(await valueIn(crashed())).toBe("2");
  });

  test("stores batches that are not awaited in their order", async () => {
    await using kv = await open();
    await Promise.all(Array.from({ length: 50 }, (_, n) => kv.write(row(n))));
    expect(kv.get("n")).toEqual(utf8("49"));
    expect(await valueIn(crashed())).toBe("49");
  });

  test("gives LevelDB no batch before the log while LevelDB moves its memory into tables", async () => {
    await using kv = await open();
    await kv.write(row(1));
    const { durable } = DatabaseMemory.of(directory) as DatabaseMemory;
    const begun = durable.begun;
    const compaction = kv.compact();
    await kv.write(row(2));
    expect(durable.begun).toBe(begun);
    await compaction;
    await kv.write(row(3));
    expect(durable.begun).toBe(begun + 1);
  });

  test("shows no batch to readers before it is durable", async () => {
    await using kv = await open();
    await kv.write(row(1));
    await using reader = await openLevelReader(directory);
    const { durable } = DatabaseMemory.of(directory) as DatabaseMemory;
    durable.begin();
    await using snapshot = reader.snapshot();
    let isRead = false;
    const reading = snapshot.getMany(["n"]).then((rows) => {
      isRead = true;
      return rows;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(isRead).toBe(false);
    durable.end();
    expect(await reading).toEqual([utf8("1")]);
  });
});

describe("a directory that cannot be opened", () => {
  const refused = async (copy: string, code: string): Promise<void> => {
    const before = await contents(copy);
    await expect(openLevelKeyValue(join(copy, "level"), settings)).rejects.toMatchObject({ code });
    expect(await contents(copy)).toEqual(before);
  };
  /** All files of the database and the log; LevelDB's lock has no content. */
  async function contents(copy: string): Promise<Map<string, string>> {
    const files = new Map<string, string>();
    for (const folder of ["level", "level-log"]) {
      for (const entry of await readdir(join(copy, folder), { withFileTypes: true }).catch(() => [])) {
        if (entry.isFile()) files.set(`${folder}/${entry.name}`, readFileSync(join(copy, folder, entry.name)).toString("base64"));
      }
    }
    return files;
  }
  async function crashedWith(batches: number): Promise<string> {
    await using kv = await open();
    for (let n = 0; n < batches; n++) await kv.write(row(n));
    return crashed();
  }

  test("with a damaged record among intact ones is STO0006 and stays unchanged", async () => {
    const copy = await crashedWith(3);
    const segment = join(copy, "level-log", "1.log");
    const bytes = await readFile(segment);
    bytes[SEGMENT_HEADER_BYTES + 30] = 0xff;
    await writeFile(segment, bytes);
    await refused(copy, "STO0006");
    await refused(copy, "STO0006"); // The failed open left nothing locked.
  });

  test("without its segments, or with those of another database, is STO0007", async () => {
    const [copy, other] = [await crashedWith(2), await crashedWith(2)];
    copyFileSync(join(other, "level-log", "1.log"), join(copy, "level-log", "1.log"));
    await refused(copy, "STO0007");
    await rm(join(copy, "level-log", "1.log"));
    await refused(copy, "STO0007");
    await writeFile(join(copy, "level", "commit-log.json"), "{}");
    await refused(copy, "STO0007");
  });

  test("while another writer uses the log is RT0005, and the log stays as it is", async () => {
    await using kv = await open();
    await kv.write(row(1));
    const log = new ClassicLevel(join(crashed(), "level-log", "lock"));
    await log.open();
    const copy = log.location.replace(/\/level-log\/lock$/, "");
    await refused(copy, "RT0005");
    await log.close();
    expect(await valueIn(copy)).toBe("1");
  });
});

describe("without a usable log", () => {
  test("a directory that cannot have one syncs LevelDB's own", async () => {
    await writeFile(`${directory}-log`, "in the way");
    await using kv = await open();
    await kv.write(row(1));
    await kv.write(row(2));
    expect([causes.length, await isNamed(), await format()]).toEqual([1, false, 1]);
    expect(kv.get("n")).toEqual(utf8("2"));
  });

  test("a next segment that cannot be made ends the use of the log, and nothing is lost", async () => {
    await using kv = await open();
    await kv.write(row(0));
    await mkdir(join(`${directory}-log`, "spare")); // The file system refuses the next file, as a full one would.
    const value = new Uint8Array(9_000).fill(7);
    for (let n = 0; n < 20; n++) await kv.write(new Map([[`k${n}`, value], ...row(n)]));
    expect([causes.length, await isNamed(), await format()]).toEqual([1, false, 1]);
    expect(await valueIn(crashed())).toBe("19");
    expect(kv.get("k3")).toEqual(value);
  });

  test("after a failed sync nothing is written any more, and a start reads what is stored", async () => {
    let isFailing = false;
    const kv = await open({
      openFiles: (log) => failing(logFilesIn(log), () => isFailing),
    });
    await kv.write(row(1));
    isFailing = true;
    await expect(kv.write(row(2))).rejects.toMatchObject({ code: "STO0001", message: expect.stringContaining("i/o error") });
    isFailing = false;
    await expect(kv.write(row(3))).rejects.toMatchObject({ code: "STO0001" });
    await expect(kv.compact()).rejects.toMatchObject({ code: "STO0001" });
    await kv[Symbol.asyncDispose]();
    expect([await isNamed(), await format()]).toEqual([true, 3]);
    await using again = await open();
    expect(again.get("n")).toEqual(utf8("1")); // LevelDB had the second batch; the log did not.
  });

  test("a batch that cannot be encoded fails alone", async () => {
    await using kv = await open();
    await kv.write(row(1));
    await expect(kv.write(new Map([["b", undefined as never]]))).rejects.toMatchObject({ code: "STO0001" });
    await kv.write(row(2));
    expect(await valueIn(crashed())).toBe("2");
  });
});

/** Files whose records cannot be written while `isFailing`. */
function failing(files: LogFiles, isFailing: () => boolean): LogFiles {
  return {
    ...files,
    async open(name) {
      const file = await files.open(name);
      return {
        size: () => file.size(),
        fill: (bytes) => file.fill(bytes),
        write: (bytes, position) =>
          isFailing() ? Promise.reject(new Error("EIO: i/o error, fdatasync")) : file.write(bytes, position),
        [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
      };
    },
  };
}
