import { describe, expect, test } from "@jest/globals";
import { isVisibleAscii, passedHeaders } from "./request-headers.js";

const path = { key: "x-restate-ingress-path", value: "/S/h?q" };

describe("passedHeaders", () => {
  test("the path comes first, then the headers in their order and in lower case", () => {
    expect(passedHeaders(["X-Custom", "Value", "Authorization", "Bearer t"], "/S/h?q")).toEqual([
      path,
      { key: "x-custom", value: "Value" },
      { key: "authorization", value: "Bearer t" },
    ]);
  });

  test("of repeated headers the first survives", () => {
    expect(passedHeaders(["a", "1", "A", "2", "a", "3"], "/S/h?q")).toEqual([path, { key: "a", value: "1" }]);
  });

  test("pieces of a cookie are put together", () => {
    expect(passedHeaders(["cookie", "a=1", "x", "y", "cookie", "b=2"], "/S/h?q")).toEqual([
      path,
      { key: "cookie", value: "a=1; b=2" },
      { key: "x", value: "y" },
    ]);
  });

  test.each(["Connection", "Host", "Idempotency-Key", "Idempotency-Expires", "X-Restate-Ingress-Path", ":authority"])(
    "%s is kept back, even with a value that is not text",
    (name) => {
      expect(passedHeaders([name, "\u00fc"], "/S/h?q")).toEqual([path]);
    },
  );

  test("a value that is not visible ASCII is refused by the header's name", () => {
    expect(passedHeaders(["X-Bad", "\u00c3\u00bc"], "/S/h?q")).toMatchObject({
      status: 400,
      message: "bad header x-bad: ToStrError { _priv: () }",
    });
  });
});

test("visible ASCII is what can be printed, and tab", () => {
  expect(isVisibleAscii("")).toBe(true);
  expect(isVisibleAscii("\t ~")).toBe(true);
  for (const bad of ["\u007f", "\u0080", "\u0000", "\n", "ü"]) expect(isVisibleAscii(bad)).toBe(false);
});
