/** Checks the list of threats: it is complete, and the tests in its rows exist and have the threat's id in their titles. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";

const THREATS = 34;
/** A feature that is not offered cannot be attacked. */
const NOT_OFFERED = /^Not offered\b/;

interface Row {
  readonly id: string;
  readonly defence: string;
  readonly files: readonly string[];
}

const rows: readonly Row[] = readFileSync(join(ROOT, "docs/operating/threats.md"), "utf8")
  .split("\n")
  .filter((line) => /^\| T\d+ \|/.test(line))
  .map((line) => {
    const [id = "", , defence = "", files = ""] = line
      .split("|")
      .slice(1)
      .map((cell) => cell.trim());
    return { id, defence, files: [...files.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "") };
  });

test("every threat has a row, in order, and a test unless its feature is not offered", () => {
  expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: THREATS }, (_, n) => `T${n + 1}`));
  expect(rows.filter(({ defence, files }) => (files.length === 0) !== NOT_OFFERED.test(defence))).toEqual([]);
});

test("every test that a row names exists and has the threat's id in its title", () => {
  const wrong = rows.flatMap(({ id, files }) =>
    files.filter((file) => !existsSync(join(ROOT, file)) || !tries(file, id)).map((file) => `${id}: ${file}`),
  );
  expect(wrong).toEqual([]);
});

/** Whether the title of a test or of its group has the id. */
function tries(file: string, id: string): boolean {
  const title = new RegExp(`["'\`][^"'\`\\n]*\\b${id}\\b[^"'\`\\n]*`);
  return file.endsWith(".test.ts") && title.test(readFileSync(join(ROOT, file), "utf8"));
}
