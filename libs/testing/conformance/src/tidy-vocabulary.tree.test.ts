/** The terms of the engineering guide, checked on names of identifiers and files of the whole tree. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { BANNED_IN_NAMES, bannedNames, FIXED_NAMES, wordsOf } from "./tree/vocabulary.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOT_SOURCES: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", "testdata"]);
/** Files that have the banned words themselves. */
const VOCABULARY: ReadonlySet<string> = new Set([
  "libs/testing/conformance/src/tidy-texts.tree.test.ts",
  "libs/testing/conformance/src/tree/vocabulary.ts",
]);

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_SOURCES.has(entry.name) ? [] : sourcesBelow(path);
    return /\.tsx?$/.test(entry.name) && !VOCABULARY.has(path) ? [path] : [];
  });
}

const sources = ["libs", "services", "deploy"].flatMap(sourcesBelow);

test("identifiers use the terms of the field", () => {
  const wrong = sources.flatMap((path) =>
    bannedNames(path, readFileSync(join(ROOT, path), "utf8")).map((name) => `${path}: ${name}`),
  );
  expect(wrong).toEqual([]);
});

test("names of files use the terms of the field", () => {
  const wrong = sources.filter((path) => wordsOf(basename(path)).some((word) => Object.hasOwn(BANNED_IN_NAMES, word)));
  expect(wrong).toEqual([]);
});

test("each name that stays in spite of a banned word is in use", () => {
  const text = sources.map((path) => readFileSync(join(ROOT, path), "utf8")).join("\n");
  const used = new Set(text.match(/[A-Za-z_$][\w$]*/g));
  expect([...FIXED_NAMES].filter((name) => !used.has(name))).toEqual([]);
});

test("a banned word is recognised in each form of a name, and neither in a comment nor in a text", () => {
  const term = (name: string, word: string): string => `${name} (${word}: ${BANNED_IN_NAMES[word]})`;
  const bannedIn = (source: string): string[] => bannedNames("libs/core/base/src/x.ts", source);
  expect(bannedIn("const publishedEpoch = 1;")).toEqual([]);
  expect(bannedIn("let toldEpoch; const TOLD_MAX = 3; class WasTold {}")).toEqual(
    ["toldEpoch", "TOLD_MAX", "WasTold"].map((name) => term(name, "told")),
  );
  expect(bannedIn('// told\n/* told */ call("told", `told`, /told/)')).toEqual([]);
});

test("an ordinary word is allowed only in the sources where something outside fixes it", () => {
  expect(bannedNames("libs/ports/metadata/src/verification.ts", "record.found")).toEqual([]);
  expect(bannedNames("libs/engine/partition-processor/src/processor.ts", "const found = 1;")).toHaveLength(1);
});
