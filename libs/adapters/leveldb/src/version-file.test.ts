import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  BLOB_FORMAT,
  COMMIT_LOG_FORMAT,
  endCommitLogFormat,
  FIRST_FORMAT,
  prepareStorageDirectory,
  raiseFormat,
  STORAGE_FORMAT,
  type StorageDirectory,
} from "./version-file.js";

let root = "";
let count = 0;
let path = "";

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-format-"));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});
beforeEach(() => {
  path = join(root, String(count++), "nested");
});

const worker = (): StorageDirectory => ({ path, setting: "base-dir", missing: "RT0009" });
const metadata = (): StorageDirectory => ({ path, setting: "base-dir", missing: "META0011" });
const file = () => join(path, "perdure-format.json");

describe("the version file of a storage directory", () => {
  test("a missing directory is created, with its version beside the database", async () => {
    const database = await prepareStorageDirectory(worker());
    expect(database.startsWith(path)).toBe(true);
    expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ format: 1 });
    expect(await readdir(path)).toEqual(["perdure-format.json"]); // No temporary file is left.
  });

  test("an empty directory is used, and opening it again gives the same database", async () => {
    await mkdir(path, { recursive: true });
    const first = await prepareStorageDirectory(worker());
    await mkdir(first);
    await writeFile(join(first, "CURRENT"), "data");
    expect(await prepareStorageDirectory(worker())).toBe(first);
    expect(await readFile(join(first, "CURRENT"), "utf8")).toBe("data");
  });

  test.each([
    ["RT0009", worker],
    ["META0011", metadata],
  ] as const)("data without a version file is refused with %s and left alone", async (code, directory) => {
    await mkdir(path, { recursive: true });
    await writeFile(join(path, "somebody's"), "data");
    await expect(prepareStorageDirectory(directory())).rejects.toMatchObject({
      code,
      message: expect.stringContaining("base-dir"),
    });
    expect(await readdir(path)).toEqual(["somebody's"]);
  });

  test.each([
    ["a later format", JSON.stringify({ format: STORAGE_FORMAT + 1 })],
    ["an earlier format", JSON.stringify({ format: 0 })],
    ["a format between two", JSON.stringify({ format: 1.5 })],
    ["no format at all", "{}"],
    ["something that is not JSON", "{oops"],
    ["an empty file", ""],
  ])("%s is refused with META0010", async (_, content) => {
    await mkdir(path, { recursive: true });
    await writeFile(file(), content);
    await expect(prepareStorageDirectory(worker())).rejects.toMatchObject({ code: "META0010" });
    expect(await readFile(file(), "utf8")).toBe(content);
  });

  test("a crash while the version was being written leaves a directory that starts", async () => {
    await mkdir(path, { recursive: true });
    await writeFile(`${file()}.4711`, '{"form');
    await prepareStorageDirectory(worker());
    expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ format: 1 });
  });

  test("the format is raised once, for what only the latest one allows, and the directory is opened as before", async () => {
    const database = await prepareStorageDirectory(worker());
    await raiseFormat(database, STORAGE_FORMAT);
    await raiseFormat(database, STORAGE_FORMAT);
    expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ format: STORAGE_FORMAT });
    expect(await prepareStorageDirectory(worker())).toBe(database);
    expect(await readdir(path)).toEqual(["perdure-format.json"]);
  });

  test("the format is not lowered by raising it, and can be set back once nothing needs it", async () => {
    const database = await prepareStorageDirectory(worker());
    const stored = async () => JSON.parse(await readFile(file(), "utf8")) as unknown;
    await raiseFormat(database, COMMIT_LOG_FORMAT);
    await raiseFormat(database, BLOB_FORMAT);
    expect(await stored()).toMatchObject({ format: COMMIT_LOG_FORMAT });
    await endCommitLogFormat(database, async () => FIRST_FORMAT);
    expect(await stored()).toMatchObject({ format: FIRST_FORMAT });
    await raiseFormat(database, BLOB_FORMAT);
    await endCommitLogFormat(database, async () => FIRST_FORMAT);
    expect(await stored()).toMatchObject({ format: BLOB_FORMAT });
  });

  test("changes of the format at the same time follow each other", async () => {
    const database = await prepareStorageDirectory(worker());
    for (let n = 0; n < 20; n++) {
      await writeFile(file(), '{"format":1}');
      await Promise.all([raiseFormat(database, COMMIT_LOG_FORMAT), raiseFormat(database, BLOB_FORMAT)]);
      expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ format: COMMIT_LOG_FORMAT });
      const ended = endCommitLogFormat(database, async () => FIRST_FORMAT);
      await Promise.all([ended, raiseFormat(database, BLOB_FORMAT)]);
      expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ format: BLOB_FORMAT });
    }
  });

  test("a database without a version file beside it gets none", async () => {
    await mkdir(path, { recursive: true });
    await raiseFormat(join(path, "level"), STORAGE_FORMAT);
    expect(await readdir(path)).toEqual([]);
  });

  test("a version file that cannot be read is an error, not a new directory", async () => {
    await mkdir(file(), { recursive: true });
    await expect(prepareStorageDirectory(worker())).rejects.toMatchObject({ code: "STO0001" });
  });

  test("the error for a directory that cannot be created has its path, the reason and the setting", async () => {
    await writeFile(join(root, "in-the-way"), "");
    const directory: StorageDirectory = { ...worker(), path: join(root, "in-the-way", "nested") };
    await expect(prepareStorageDirectory(directory)).rejects.toMatchObject({
      code: "STO0001",
      message: expect.stringMatching(/in-the-way\/nested cannot be used: ENOTDIR.*base-dir/),
    });
  });
});
