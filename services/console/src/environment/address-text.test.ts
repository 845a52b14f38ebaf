import { expect, test } from "@jest/globals";
import { changedSearch, lastSegments } from "./address-text.js";

test("parameters are added, changed and removed", () => {
  expect(changedSearch("?a=1&b=2", { a: "3", b: undefined, c: "x y" })).toBe("?a=3&c=x+y");
  expect(changedSearch("?a=1", { a: "" })).toBe("");
});

test("what SQL and keys contain survives the address", () => {
  const statement = "SELECT '100%', '%41' WHERE a LIKE '%ab+c&d#%'";
  expect(new URLSearchParams(changedSearch("", { q: statement })).get("q")).toBe(statement);
  const key = "a/b%2Fc é";
  expect(lastSegments(`/ui/state/Stock/${encodeURIComponent(key)}`, 2)).toEqual(["Stock", key]);
});

test("what is not an encoding stays", () => {
  expect(lastSegments("/state/a/100%", 1)).toEqual(["100%"]);
});
