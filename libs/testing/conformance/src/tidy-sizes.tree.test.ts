/**
 * Why: a function that fits a screen reads from top to bottom, and a file that holds one idea is found by its name. Files have at most 400
 * lines, functions at most 70; those up to 100 that read better whole are listed with the reason.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { LONG_FILES, OVER_A_SCREEN } from "./tree/size-exceptions.js";
import { functionsOver, type MeasuredFunction } from "./tree/sizes.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOT_SOURCES: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", "testdata"]);
const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 100;
/** What fits a screen. */
const FUNCTION_LINES = 70;
/** All sources are parsed once: some seconds of processor time. */
const WHOLE_TREE_MS = 180_000;

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_SOURCES.has(entry.name) ? [] : sourcesBelow(path);
    return /\.(ts|tsx|mjs)$/.test(entry.name) ? [path] : [];
  });
}

const sources = ["libs", "services", "deploy"]
  .flatMap(sourcesBelow)
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

let measured: ReadonlyMap<string, MeasuredFunction> | undefined;

/** Functions over a screen by `path#name`. */
function longFunctions(): ReadonlyMap<string, MeasuredFunction> {
  measured ??= new Map(
    sources.flatMap(({ path, text }) => functionsOver(FUNCTION_LINES, path, text).map((one) => [`${path}#${one.name}`, one])),
  );
  return measured;
}

const explained = OVER_A_SCREEN.flatMap(({ functions }) => functions);

describe("sizes", () => {
  test(
    `no function is over ${FUNCTION_LINES_MAX} lines`,
    () => {
      const over = [...longFunctions()].filter(([, { lineCount }]) => lineCount > FUNCTION_LINES_MAX).map(([key]) => key);
      expect(over).toEqual([]);
    },
    WHOLE_TREE_MS,
  );

  test(
    `each function over ${FUNCTION_LINES} lines has a reason, and no reason is left over`,
    () => {
      const long = [...longFunctions()].filter(([, { lineCount }]) => lineCount <= FUNCTION_LINES_MAX).map(([key]) => key);
      expect(long.sort()).toEqual([...explained].sort());
    },
    WHOLE_TREE_MS,
  );

  test(`no file is over ${FILE_LINES_MAX} lines`, () => {
    const over = sources.filter(({ text }) => text.trimEnd().split("\n").length > FILE_LINES_MAX).map(({ path }) => path);
    expect(over.sort()).toEqual(Object.keys(LONG_FILES).sort());
  });
});

describe("a function is measured", () => {
  const measure = (source: string, path = "x.ts"): string[] =>
    functionsOver(2, path, source).map(({ name, firstLine, lineCount }) => `${name} ${firstLine} ${lineCount}`);
  const BODY = "{\n  work();\n}";

  test.each([
    ["a declaration", `export function start() ${BODY}`, "start 1 3"],
    ["a default export", `export default function start() ${BODY}`, "start 1 3"],
    ["an arrow in a variable", `// ü\nconst start = async () => ${BODY};`, "start 2 3"],
    ["a method", `class A { start() ${BODY} }`, "A.start 1 3"],
    ["a private method", `class A { #start() ${BODY} }`, "A.#start 1 3"],
    ["a constructor", `class A { constructor() ${BODY} }`, "A.constructor 1 3"],
    ["a member of an object", `const all = { start() ${BODY} };`, "start 1 3"],
    ["a test", `test("works", () => ${BODY});`, 'test("works") 1 3'],
    ["a test with cases", `test.each([1])("works", () => ${BODY});`, 'test("works") 1 3'],
    ["a callback", `beforeAll(() => ${BODY});`, "beforeAll(…) 1 3"],
  ])("%s", (_what, source, expected) => {
    expect(measure(source)).toEqual([expected]);
  });

  test("in JSX and behind a first line for the shell, too", () => {
    expect(measure(`export const Panel = () => (\n  <p>\n    text\n  </p>\n);`, "x.tsx")).toEqual(["Panel 1 5"]);
    expect(measure(`#!/usr/bin/env node\nfunction start() ${BODY}`, "x.mjs")).toEqual(["start 2 3"]);
  });

  test("with all that is inside it, but not what fits", () => {
    expect(measure(`function a() {\n  const b = () => ${BODY};\n}\nfunction c() {}`)).toEqual(["a 1 5", "b 2 3"]);
  });

  test("unless it is a suite", () => {
    expect(measure('describe("group", () => {\n  shared();\n  more();\n});')).toEqual([]);
    expect(measure('export function describeAll() {\n  describe("all", () => {});\n}')).toEqual([]);
    expect(measure('const suite = () => {\n  test.each([1])("%s", () => {});\n};')).toEqual([]);
  });
});
