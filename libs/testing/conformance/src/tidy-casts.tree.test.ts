/**
 * Why: a cast turns the compiler off. What comes from elsewhere (a file, a database, an API server, another process) is parsed, and objects
 * are complete when other objects get them. The number of casts that are left in a package may only shrink.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { CASTS_MAX } from "./tree/cast-numbers.js";
import { uncheckedCodeOf } from "./tree/casts.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOT_SOURCES: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", "test", "testing", "testdata", "bench"]);
/** All sources are parsed once: some seconds of processor time. */
const WHOLE_TREE_MS = 180_000;

/** Sources that run in production. */
function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_SOURCES.has(entry.name) ? [] : sourcesBelow(path);
    return /(?<!\.test|\.config)\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** `libs/core/base/src/id.ts` → `libs/core/base`. */
const packageOf = (path: string): string => path.split("/", path.startsWith("libs/") ? 3 : 2).join("/");

test(
  "production code has no double cast and no placeholder, and in each package no more casts than before",
  () => {
    const checked = ["libs", "services"].flatMap(sourcesBelow).map((path) => ({
      path,
      ...uncheckedCodeOf(path, readFileSync(join(ROOT, path), "utf8")),
    }));
    expect(checked.length).toBeGreaterThan(100);
    expect(checked.filter(({ doubleCasts }) => doubleCasts > 0).map(({ path }) => path)).toEqual([]);
    expect(checked.filter(({ placeholders }) => placeholders > 0).map(({ path }) => path)).toEqual([]);
    const counts = new Map<string, number>();
    for (const { path, casts } of checked) counts.set(packageOf(path), (counts.get(packageOf(path)) ?? 0) + casts);
    const grown = [...counts].filter(([name, count]) => count > (CASTS_MAX[name] ?? 0));
    expect(grown.map(([name, count]) => `${name}: ${count} casts, ${CASTS_MAX[name] ?? 0} before`)).toEqual([]);
    expect(Object.keys(CASTS_MAX).filter((name) => (counts.get(name) ?? 0) === 0)).toEqual([]);
  },
  WHOLE_TREE_MS,
);

test("casts and placeholders are recognised in each form", () => {
  const counts = (source: string) => uncheckedCodeOf("x.ts", source);
  expect(counts("const a = b as T; const c = [1] as const; const d = e as unknown; const f = g satisfies T;")).toEqual({
    casts: 1,
    doubleCasts: 0,
    placeholders: 0,
  });
  expect(counts("f(a as unknown as T); f((a as unknown) as T);")).toMatchObject({ casts: 2, doubleCasts: 2 });
  const parts = "const parts: Parts = { worker: undefined, log: undefined };";
  expect(counts(`${parts} parts.worker = w; let x!: T; class A { b!: T }`).placeholders).toBe(3);
  expect(counts(parts).placeholders).toBe(0);
  expect(counts("const empty = {}; const a = { b: undefined, c: 1 }; a.b = 1; change({ d: undefined });").placeholders).toBe(0);
});
