import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { describeMetadataStore } from "@perdure/metadata/testing";
import { ClassicLevel } from "classic-level";
import { openLevelMetadataStore } from "./metadata-store.js";

let root = "";
let directory = "";
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-metadata-"));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});
async function reset(): Promise<void> {
  directory = join(root, String(count++));
}

describeMetadataStore("LevelDB", reset, () => openLevelMetadataStore(directory));

test("a directory that another store has open is refused with RT0005", async () => {
  await reset();
  await using _holder = await openLevelMetadataStore(directory);
  await expect(openLevelMetadataStore(directory)).rejects.toMatchObject({ code: "RT0005" });
});

test("a document that cannot be parsed is reported as damage, not as missing", async () => {
  await reset();
  const db = new ClassicLevel(directory);
  await db.put("da", "no version here");
  await db.put("db", "3 {oops");
  await db.close();
  await using store = await openLevelMetadataStore(directory);
  await expect(store.get("a")).rejects.toMatchObject({ code: "STO0003" });
  await expect(store.get("b")).rejects.toMatchObject({ code: "STO0003" });
  await expect(store.list("")).rejects.toMatchObject({ code: "STO0003" });
});

test("a store that was closed fails with STO0001", async () => {
  await reset();
  const store = await openLevelMetadataStore(directory);
  await store[Symbol.asyncDispose]();
  await expect(store.get("a")).rejects.toMatchObject({ code: "STO0001" });
});

test("a store whose version cannot be read is not left open: it opens once it is repaired", async () => {
  await reset();
  {
    await using store = await openLevelMetadataStore(directory);
    await store.write([{ kind: "put", key: "a", value: 1, expectedVersion: 0 }]);
  }
  const db = new ClassicLevel(directory);
  await db.open();
  await db.compactRange("a", "z"); // Into a table file.
  await db.close();
  const [name = ""] = (await readdir(directory)).filter((file) => file.endsWith(".ldb"));
  const table = join(directory, name);
  const whole = await readFile(table);
  await truncate(table, 10);
  await expect(openLevelMetadataStore(directory)).rejects.toMatchObject({ code: "STO0001" });
  await writeFile(table, whole);
  await using store = await openLevelMetadataStore(directory);
  expect(await store.get("a")).toMatchObject({ value: 1 });
});
