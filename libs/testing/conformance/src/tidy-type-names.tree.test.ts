/**
 * Why: one concept has one term, and one term one concept. A reader who has learned what a `Release` is must not meet another one in the next
 * package. Examples are programs of their own, and tests may name what they build as they like.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { SHARED_TYPE_NAMES, typeNamesIn } from "./tree/type-names.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOT_SOURCES: ReadonlySet<string> = new Set([
  "node_modules",
  "dist",
  "gen",
  "test",
  "testing",
  "testdata",
  "bench",
  "examples",
]);

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_SOURCES.has(entry.name) ? [] : sourcesBelow(path);
    return /(?<!\.test|\.config)\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

test("a type name has one definition, or is listed with the reason", () => {
  const filesOf = new Map<string, Set<string>>();
  for (const path of ["libs", "services", "deploy"].flatMap(sourcesBelow)) {
    for (const name of typeNamesIn(readFileSync(join(ROOT, path), "utf8")))
      filesOf.set(name, (filesOf.get(name) ?? new Set()).add(path));
  }
  expect(filesOf.size).toBeGreaterThan(1000);
  const shared = [...filesOf].filter(([, paths]) => paths.size > 1);
  const listed = new Set(SHARED_TYPE_NAMES.flatMap(({ names }) => names));
  const unlisted = shared.filter(([name]) => !listed.has(name)).map(([name, paths]) => `${name}: ${[...paths].join(", ")}`);
  expect(unlisted).toEqual([]);
  expect([...listed].filter((name) => (filesOf.get(name)?.size ?? 0) < 2)).toEqual([]);
});

test("definitions are recognised in each form, and neither in imports nor in comments", () => {
  const source = [
    'import type { Imported } from "./a.js";',
    "export interface Row<T> {",
    "type Pair = [1, 2];",
    "export abstract class Base {",
    "// type Comment = 1",
    "  type Inner = 1;",
  ];
  expect(typeNamesIn(source.join("\n"))).toEqual(["Row", "Pair", "Base"]);
});
