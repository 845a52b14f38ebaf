import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { warnOfForeignFiles } from "./base-directory.js";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "perdure-base-dir-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function warnings(node = join(directory, "node1")): Promise<readonly object[]> {
  const lines: object[] = [];
  await warnOfForeignFiles(node, { ...silentLogger, warn: (fields: object) => void lines.push(fields) });
  return lines;
}

test("a first start beside files of other programs is a warning with their names", async () => {
  writeFileSync(join(directory, "orders.csv"), "");
  mkdirSync(join(directory, "photos"));
  expect(await warnings()).toEqual([{ directory, entries: 2, files: "orders.csv, photos", setting: "base-dir" }]);
});

test("an empty directory, one that does not exist, hidden files and data of other nodes are none", async () => {
  expect(await warnings()).toEqual([]);
  expect(await warnings(join(directory, "absent", "node1"))).toEqual([]);
  writeFileSync(join(directory, ".gitignore"), "*");
  mkdirSync(join(directory, "node2", "db"), { recursive: true });
  expect(await warnings()).toEqual([]);
});

test("a server that finds its data does not warn", async () => {
  writeFileSync(join(directory, "notes.txt"), "");
  mkdirSync(join(directory, "node1", "db"), { recursive: true });
  expect(await warnings()).toEqual([]);
});
