import { expect, test } from "@jest/globals";
import { type DiffLine, lineDiff } from "./line-diff.js";

const SIGNS = { same: " ", added: "+", removed: "-" } as const;
const textOf = (lines: readonly DiffLine[]): readonly string[] =>
  lines.map((line) => (line.kind === "skipped" ? `… ${line.count}` : `${SIGNS[line.kind]}${line.text}`));
const diff = (before: string, after: string) => textOf(lineDiff(before, after));

test("equal texts have no differences", () => {
  expect(diff("a\nb", "a\nb")).toEqual([]);
  expect(diff("", "")).toEqual([]);
});

test("a text that is new or gone is one difference", () => {
  expect(diff("", "a\nb")).toEqual(["+a", "+b"]);
  expect(diff("a", "")).toEqual(["-a"]);
});

test("lines in common stay in their order, a changed line is removed and added", () => {
  expect(diff("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
});

test("lines that are far from a difference are counted", () => {
  const lines = Array.from({ length: 20 }, (_, n) => `line ${n}`);
  const changed = lines.with(10, "changed");
  expect(diff(lines.join("\n"), changed.join("\n"))).toEqual([
    "… 7",
    " line 7",
    " line 8",
    " line 9",
    "-line 10",
    "+changed",
    " line 11",
    " line 12",
    " line 13",
    "… 6",
  ]);
});

test("the difference leads from one text to the other, for many small texts", () => {
  const alphabet = ["a", "b", "c"];
  const texts = Array.from({ length: 81 }, (_, n) => [n, Math.floor(n / 3), Math.floor(n / 9), Math.floor(n / 27)]).map((parts) =>
    parts.map((part) => alphabet[part % 3]).join("\n"),
  );
  for (const before of texts)
    for (const after of texts) {
      const lines = lineDiff(before, after);
      if (before === after) continue;
      const without = (kind: "added" | "removed") =>
        lines.flatMap((line) => (line.kind === "skipped" || line.kind === kind ? [] : [line.text])).join("\n");
      const isShort = lines.every(({ kind }) => kind !== "skipped");
      if (isShort) expect([without("added"), without("removed")]).toEqual([before, after]);
    }
});

test("texts that are too long to compare are all removed and all added", () => {
  const many = (name: string) => Array.from({ length: 3_000 }, (_, n) => `${name} ${n}`).join("\n");
  const kinds = lineDiff(many("a"), many("b")).map(({ kind }) => kind);
  expect(kinds.lastIndexOf("removed")).toBe(2_999);
  expect(kinds.indexOf("added")).toBe(3_000);
});
