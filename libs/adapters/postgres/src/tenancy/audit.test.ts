import { expect, test } from "@jest/globals";
import { detailsOf } from "./audit.js";

test("the details of an audited action are read as they were written", () => {
  expect(detailsOf({ number: 1, details: '{"name":"Acme","from":null}' })).toEqual({ name: "Acme", from: null });
});

test("a line whose details cannot be read is damaged data, and the error names the line", () => {
  for (const details of ["", "{", "null", "[]", '"text"'])
    expect(() => detailsOf({ number: 42, details })).toThrow(
      expect.objectContaining({ code: "STO0003", detail: expect.stringContaining("line 42") }),
    );
});
