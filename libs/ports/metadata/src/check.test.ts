import { expect, test } from "@jest/globals";
import { documentText, documentValue } from "./check.js";

test("a document has the value that was stored, without members that are undefined", () => {
  expect(documentValue("a", documentText({ a: [1, null], b: undefined }))).toEqual({ a: [1, null] });
});

test("a stored text that is not JSON is STO0003, and names the document", () => {
  const read = (): unknown => documentValue("registry/rule-book", '{"cut":');
  expect(read).toThrow(expect.objectContaining({ code: "STO0003", detail: expect.stringContaining("registry/rule-book") }));
});
