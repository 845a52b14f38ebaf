import { expect, test } from "@jest/globals";
import { jsonFields, parseJson } from "./json.js";

test("a text that is not JSON has no value", () => {
  expect(parseJson('{"a":1}')).toEqual({ a: 1 });
  expect(parseJson("null")).toBeNull();
  for (const text of ["", "{", "undefined", '{"a":1}x']) expect(parseJson(text)).toBeUndefined();
});

test("only an object has fields", () => {
  expect(jsonFields({ a: 1 })).toEqual({ a: 1 });
  for (const value of [null, undefined, [], [1], "text", 1, true]) expect(jsonFields(value)).toBeUndefined();
});
