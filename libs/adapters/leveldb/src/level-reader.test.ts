import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { fromUtf8, utf8 } from "@perdure/base";
import type { KeyValue } from "@perdure/storage";
import { DatabaseMemory } from "./database-memory.js";
import { openLevelKeyValue } from "./level-key-value.js";
import { openLevelReader } from "./level-reader.js";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "perdure-reader-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function textsOf(kv: KeyValue): Promise<string[]> {
  const texts: string[] = [];
  for await (const page of kv.values("", "~")) texts.push(...page.map((value) => fromUtf8(value)));
  return texts;
}

test("a snapshot has the data committed when it was created, by every kind of read", async () => {
  const directory = join(root, "a");
  await using writer = await openLevelKeyValue(directory);
  const key = (n: number) => `k${String(n).padStart(5, "0")}`;
  const many = Array.from({ length: 5000 }, (_, n) => n);
  await writer.write(new Map(many.map((n) => [key(n), utf8(`v${n}`)])));
  await using reader = await openLevelReader(directory);
  await using before = reader.snapshot();
  await writer.write(new Map([[key(0), utf8("changed")], ...many.slice(1).map((n) => [key(n), null] as const)]));
  await using after = reader.snapshot();

  expect((await textsOf(before)).length).toBe(5000);
  expect(await textsOf(after)).toEqual(["changed"]);
  expect([fromUtf8(before.get(key(0)) ?? utf8("")), after.get(key(1))]).toEqual(["v0", undefined]);
  expect((await before.getMany([key(1), "none"])).map((value) => value && fromUtf8(value))).toEqual(["v1", undefined]);
  const pairs: string[] = [];
  for await (const [rowKey, value] of before.scan(key(10), key(20), { limit: 2 })) pairs.push(`${rowKey}=${fromUtf8(value)}`);
  expect(pairs).toEqual([`${key(10)}=v10`, `${key(11)}=v11`]);
  await expect(before.write(new Map())).rejects.toMatchObject({ code: "STO0001" });
});

test("a scan that is abandoned leaves nothing open", async () => {
  const directory = join(root, "b");
  await using writer = await openLevelKeyValue(directory);
  await writer.write(new Map(Array.from({ length: 9000 }, (_, n) => [`k${n}`, utf8("v")])));
  await using reader = await openLevelReader(directory);
  await using snapshot = reader.snapshot();
  for await (const page of snapshot.values("", "~")) {
    expect(page.length).toBeGreaterThan(0);
    break;
  }
});

test("a directory that does not exist is refused", async () => {
  await expect(openLevelReader(join(root, "none"))).rejects.toMatchObject({ code: "STO0001" });
});

test("a snapshot that fails holds no files: they are removed once no read needs them", async () => {
  const directory = join(root, "failing");
  await using _writer = await openLevelKeyValue(directory);
  const reader = await openLevelReader(directory);
  await reader[Symbol.asyncDispose]();
  expect(() => reader.snapshot()).toThrow();
  const { holds } = DatabaseMemory.of(directory) as DatabaseMemory;
  expect([holds.advance(), holds.advance(), holds.haveEnded(0)]).toEqual([true, true, true]);
});
