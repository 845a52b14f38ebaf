import { runInNewContext } from "node:vm";
import { expect, test } from "@jest/globals";
import { causeCode, causeMessage } from "./cause.js";

test("the message and the code of an error are read, whichever realm it is from", () => {
  const foreign: unknown = runInNewContext("Object.assign(new Error('no file'), { code: 'ENOENT' })");
  expect(foreign instanceof Error).toBe(false);
  expect([causeMessage(foreign), causeCode(foreign)]).toEqual(["no file", "ENOENT"]);
  expect([causeMessage(new Error("boom")), causeCode(new Error("boom"))]).toEqual(["boom", undefined]);
});

test.each([
  [undefined, "undefined"],
  [null, "null"],
  ["text", "text"],
  [7, "7"],
  [{ code: 1, message: 2 }, "[object Object]"],
])("%p has a text and no code", (cause, text) => expect([causeMessage(cause), causeCode(cause)]).toEqual([text, undefined]));
