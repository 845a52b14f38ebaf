/** Values, their rules and their table in the README are one thing. `make charts` writes the table anew. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { CHART } from "./release.js";
import { leavesOfSchema, leavesOfValues, openObjects, readmeOf } from "./values.js";

const README = join(CHART, "README.md");

test("what has a default has a rule, and the other way round", () => {
  const paths = leavesOfSchema().map(({ path }) => path);
  expect(paths.length).toBeGreaterThan(100);
  expect(leavesOfValues().toSorted()).toEqual(paths.toSorted());
});

test("each has a description, and no object accepts unknown names", () => {
  for (const { path, description } of leavesOfSchema()) expect([path, description]).toEqual([path, expect.stringMatching(/\.$/)]);
  expect(openObjects()).toEqual([]);
});

test("the README has all of them in its table", () => {
  const text = readFileSync(README, "utf8");
  const expected = readmeOf(text);
  if (process.env["PERDURE_WRITE_CHARTS"] === "1") writeFileSync(README, expected);
  expect(readFileSync(README, "utf8")).toBe(expected);
});
