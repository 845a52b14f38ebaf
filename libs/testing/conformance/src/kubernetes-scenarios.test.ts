/** Checks the list of scenarios: it is complete, and the tests in its rows exist with those titles. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";

const SCENARIOS = 65;
const PAGE = "docs/operating/kubernetes-tests.md";
/** A scenario that cannot happen has the reason. */
const CANNOT_HAPPEN = /^Cannot happen: \S/;

interface Row {
  readonly number: number;
  readonly cell: string;
  readonly tests: readonly { readonly title: string; readonly file: string }[];
}

const rows: readonly Row[] = readFileSync(join(ROOT, PAGE), "utf8")
  .split("\n")
  .filter((line) => /^\| \d+ \|/.test(line))
  .map((line) => {
    const [number = "", , cell = ""] = line
      .split("|")
      .slice(1)
      .map((one) => one.trim());
    const links = [...cell.matchAll(/\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+)\)/g)];
    return { number: Number(number), cell, tests: links.map(([, title = "", file = ""]) => ({ title, file })) };
  });

test("every scenario has a row, in order, and tests unless it cannot happen", () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: SCENARIOS }, (_, n) => n + 1));
  expect(rows.filter(({ cell, tests }) => (tests.length === 0) !== CANNOT_HAPPEN.test(cell))).toEqual([]);
});

test("every test that a row names exists", () => {
  const wrong = rows.flatMap(({ number, tests }) =>
    tests.filter((one) => !isThere(one)).map(({ title, file }) => `${number}: ${file}: ${title}`),
  );
  expect(wrong).toEqual([]);
});

/** Whether it is the title of a test or of a group of tests. */
function isThere({ title, file }: Row["tests"][number]): boolean {
  const path = join(ROOT, file);
  return file.endsWith(".test.ts") && existsSync(path) && readFileSync(path, "utf8").includes(`"${title}",`);
}
