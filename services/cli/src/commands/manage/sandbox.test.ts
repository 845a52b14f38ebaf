import { expect, test } from "@jest/globals";
import { InvalidArgumentError } from "commander";
import { stubFailFlag, stubFlag } from "./sandbox.js";

test("stubs name a handler and its result", () => {
  expect(stubFailFlag("Stock/reserve=500:none: left", stubFlag(`Stock/count={"a":"b=c"}`, undefined))).toEqual([
    { service: "Stock", handler: "count", value: { a: "b=c" } },
    { service: "Stock", handler: "reserve", failure: { code: 500, message: "none: left" } },
  ]);
});

test.each(["Stock", "Stock=1", "Stock/reserve", "Stock/reserve=text", "/reserve=1"])("%s is refused with an example", (text) => {
  expect(() => stubFlag(text, undefined)).toThrow(InvalidArgumentError);
});

test("a failure without a code is refused", () => {
  expect(() => stubFailFlag("Stock/reserve=none", undefined)).toThrow(/--stub-fail Stock\/reserve='500:message'/);
});
