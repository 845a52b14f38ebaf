/** The console uses the terms of the field (docs/contributing/console-wording.md). Phrases that were replaced do not come back. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";

const SOURCE = import.meta.dirname;

/** Each phrase with its replacement. */
const BANNED: readonly (readonly [RegExp, string])[] = [
  [/\bMake (it|a|an|the)\b/, "Create"],
  [/\bLeave it\b/, "Cancel"],
  [/\bForget (it|the)\b/, "Purge, Delete journal"],
  [/\ball the same\b/, "anyway"],
  [/\bLook what\b/, "Preview changes"],
  [/\bWhere it (answers|is)\b/, "Endpoint URL"],
  [/\bboth ways at once\b/, "bidirectional streaming"],
  [/\bAt once\b|\bIn each\b|\bOf them at once\b/, "Max concurrency, Per, Burst"],
  [/\bBy the clock of\b/, "Time zone"],
  [/\bthe run before\b/i, "Overlap policy"],
  [/\bthe server was away\b/, "Catch-up policy"],
  [/\bWhat it is for\b/, "Description"],
  [/\bWritten as\b/, "Format"],
  [/\bRun before\b/, "History"],
  [/\bStart the copy\b/, "Restart as new"],
  [/\bChoose none\b|\bChoose all\b/, "Clear selection, Select all"],
  [/\bAs stored\b/, "Raw"],
  [/\bWhat needs you\b/, "Needs attention"],
  [/\bHalf of them\b/, "p50"],
  [/\bTime to the end\b/, "Duration"],
  [/\bnobody\b/i, "no user, no member"],
  [/\bsomebody\b|\bwhoever\b/i, "a user, a member"],
  [/\bgoes on\b|\bgo on\b/, "continues, resumes"],
  [/\bVersions of the protocol\b/, "Protocol versions"],
  [/\bFrom outside\b/, "Visibility"],
  [/\bCheck it against\b/, "Verify compatibility"],
  [/\bAs the system\b/, "Theme: System"],
];

interface Shown {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Texts between quotes, backticks or tags; lines of comments are none. */
function* shownTexts(): Generator<Shown> {
  for (const file of readdirSync(SOURCE, { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(file) || file.includes(".test.")) continue;
    const lines = readFileSync(join(SOURCE, file), "utf8")
      .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ""))
      .split("\n");
    for (const [index, line] of lines.entries()) yield { file, line: index + 1, text: line.replace(/(^|\s)\/\/.*/, "") };
  }
}

test("no text of the console has a phrase for which the field has a term", () => {
  const findings = [...shownTexts()].flatMap(({ file, line, text }) =>
    BANNED.filter(([phrase]) => phrase.test(text)).map(([phrase, instead]) => `${file}:${line}: ${phrase.source} → ${instead}`),
  );
  expect(findings).toEqual([]);
});

test("the check reads the texts", () => {
  const texts = [...shownTexts()].map(({ text }) => text);
  expect(texts.length).toBeGreaterThan(5_000);
  expect(texts.some((text) => text.includes("Register deployment"))).toBe(true);
  expect(BANNED.every(([phrase]) => !phrase.test("Create"))).toBe(true);
});
