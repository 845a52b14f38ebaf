import { describe, expect, test } from "@jest/globals";
import { InvalidArgumentError } from "commander";
import { failEdit, setEdit } from "./fork-edits.js";

describe("an edited result", () => {
  test.each([
    [`5={"approved":true}`, { step: 5, text: `{"approved":true}` }],
    [`0="a=b"`, { step: 0, text: `"a=b"` }],
    // The text is sent as it is: a number keeps all of its digits.
    ["3=12345678901234567890", { step: 3, text: "12345678901234567890" }],
    ["3=base64:3q2+7w==", { step: 3, base64: "3q2+7w==" }],
    ["4=", { step: 4, none: true }],
  ])("%s", (text, edit) => {
    expect(setEdit(text, undefined)).toEqual([edit]);
  });

  test("of several flags are kept in their order", () => {
    expect(failEdit("2=500:no", setEdit("1=true", undefined))).toEqual([
      { step: 1, text: "true" },
      { step: 2, failure: { code: 500, message: "no" } },
    ]);
  });

  test.each(["5", "=1", "x=1", "5=text", "99999999999=1"])("%s is refused with an example", (text) => {
    expect(() => setEdit(text, undefined)).toThrow(InvalidArgumentError);
  });

  test.each(["5=500", "5=0:zero", "5=99999:big", "500:message"])("the failure %s is refused with an example", (text) => {
    expect(() => failEdit(text, undefined)).toThrow(InvalidArgumentError);
  });
});
