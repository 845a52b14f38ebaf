/** The terms of the engineering guide, checked on texts: comments, titles of tests, messages, documents, charts. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { bannedInTexts, FIXED_TEXTS, hasTexts } from "./tree/text-terms.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOT_TEXTS: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", "testdata"]);
const IN_ROOT = [
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CODE_OF_CONDUCT.md",
  "CONTRIBUTING.md",
  "Makefile",
  "README.md",
  "SECURITY.md",
  "SUPPORT.md",
];
/** Files that have the banned words because they ban them. */
const VOCABULARY: ReadonlySet<string> = new Set([
  "docs/contributing/console-wording.md",
  "docs/contributing/style.md",
  "libs/testing/conformance/src/tidy-texts.tree.test.ts",
  "libs/testing/conformance/src/tidy-vocabulary.tree.test.ts",
  "libs/testing/conformance/src/tree/text-terms.ts",
  "libs/testing/conformance/src/tree/vocabulary.ts",
]);
/** Entries of `FIXED_TEXTS`. The number may fall and not rise. */
const FIXED_TEXTS_MAX = 10;

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_TEXTS.has(entry.name) ? [] : filesBelow(path);
    return entry.isFile() && hasTexts(path) && !VOCABULARY.has(path) ? [path] : [];
  });
}

const files = [...["charts", "deploy", "docs", "libs", "proto", "services"].flatMap(filesBelow), ...IN_ROOT];
const contents = new Map(files.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));

test("comments, titles, messages and documents use the terms of the field", () => {
  expect([...contents].flatMap(([path, content]) => bannedInTexts(path, content))).toEqual([]);
});

test("exceptions do not grow, and each is in use", () => {
  expect(FIXED_TEXTS.length).toBeLessThanOrEqual(FIXED_TEXTS_MAX);
  const unused = FIXED_TEXTS.filter(({ words, paths }) => {
    const pattern = new RegExp(`\\b(?:${words.join("|")})\\b`, "i");
    return ![...contents].some(([path, content]) => paths.test(path) && pattern.test(content));
  });
  expect(unused.map(({ why }) => why)).toEqual([]);
});

/** The banned words that are found in the text, each with its line. */
function wordsIn(path: string, content: string): string[] {
  return bannedInTexts(path, content).map((one) => one.slice(path.length + 1).replace(/ \(.*$/s, ""));
}

test("a planted word is found in each kind of text", () => {
  const source = [
    "/** Returns what the worker",
    " * told it. */",
    "// Nobody reads it.",
    'test("asks the registry", () => {});',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source of a template within a template
    "const text = `the door ${name + ` of ${1} stranger`} is closed`;",
    "const more = `${[",
    '  "a letter for the partition",',
    "]}`;",
  ].join("\n");
  expect(wordsIn("libs/core/base/src/x.ts", source)).toEqual([
    "2: told",
    "3: Nobody",
    "4: asks",
    "5: stranger",
    "5: door",
    "7: letter for",
  ]);
  expect(wordsIn("services/console/src/x.tsx", "<p>\n  Don't forget <b>{`a visit`}</b> the news\n</p>")).toEqual([
    "2: visit",
    "2: forget",
    "2: news",
  ]);
  expect(wordsIn("docs/x.md", "# Title\n\nThe gateway tells [tenancy](asks.md).\n")).toEqual(["3: tells"]);
  expect(wordsIn("charts/x/values.yaml", "a: 1 # Whoever reads it.\nsummary: It looks at objects\n")).toEqual([
    "1: Whoever",
    "2: looks",
  ]);
  expect(wordsIn("charts/x/dashboards/y.json", '{\n  "title": "Doors"\n}')).toEqual(["2: Doors"]);
});

test("names, keys, code and ordinary phrases are not texts", () => {
  expect(wordsIn("libs/core/base/src/x.ts", 'const door = ask("told", /a wish/, 8 / letters); // `told` is a field\n')).toEqual(
    [],
  );
  expect(wordsIn("libs/core/base/src/x.ts", "// It looks up the wall clock, and looks like a look-up.")).toEqual([]);
  expect(wordsIn("docs/x.md", "Call `ask` with <https://perdure.dev/told>:\n\n```ts\nawait tell();\n```\n")).toEqual([]);
});
