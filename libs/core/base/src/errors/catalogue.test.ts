import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { catalogue, type ErrorCode, isErrorCode } from "../index.js";

const folder = new URL("../../../../../docs/errors/", import.meta.url);
const codes = Object.keys(catalogue) as ErrorCode[];
const pages = readdirSync(folder).filter((name) => name !== "README.md");

function read(name: string): string {
  return readFileSync(new URL(name, folder), "utf8");
}

test("each code has a page, and each page a code", () => {
  expect(pages.sort()).toEqual(codes.map((code) => `${code}.md`).sort());
});

describe.each(codes)("the page of %s", (code) => {
  const text = read(`${code}.md`);

  test("has the title of the catalogue and the sections what happened, why, and what to do", () => {
    const headings = text.split("\n").filter((line) => line.startsWith("#"));
    expect(headings).toEqual([`# ${code}: ${catalogue[code].title}`, "## What happened", "## Why", "## What to do"]);
    for (const section of text.split(/^## .*$/m).slice(1)) expect(section.trim().length).toBeGreaterThan(60);
  });

  test("is short enough to read during an incident", () => {
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(26);
  });

  test("refers only to pages that exist", () => {
    const targets = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target]) => target as string);
    expect(targets.filter((target) => !existsSync(new URL(target, folder)))).toEqual([]);
  });
});

test("the index lists every code once, with its title", () => {
  const rows = [...read("README.md").matchAll(/^\| \[(\w+)\]\((\w+)\.md\) +\| (.*?) +\|$/gm)].map(([, code, page, title]) => [
    code,
    page,
    title,
  ]);
  expect(rows).toEqual(codes.map((code) => [code, code, catalogue[code].title]));
});

test("all codes of the interface specification are there, and those of our own start at 100", () => {
  const numbers = (prefix: string) =>
    codes.filter((code) => code.startsWith(prefix)).map((code) => Number(code.slice(prefix.length)));
  expect(numbers("META")).toEqual([3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 100, 101, 102, 103, 104]);
  expect(numbers("RT")).toEqual([
    1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 100, 101, 102, 103, 104,
  ]);
});

test("registration errors answer with the statuses the specification gives", () => {
  const statuses = Object.fromEntries(
    codes.filter((code) => code.startsWith("META")).map((code) => [code, catalogue[code].http]),
  );
  expect(statuses).toMatchObject({
    META0003: 500,
    META0004: 409,
    META0005: 400,
    META0006: 409,
    META0009: 400,
    META0016: 400,
    META0017: 409,
  });
});

test("a text is recognised as a code only if it is one", () => {
  expect(codes.every(isErrorCode)).toBe(true);
  for (const text of ["", "RT0008", "rt0001", "toString", "__proto__"]) expect(isErrorCode(text)).toBe(false);
});
