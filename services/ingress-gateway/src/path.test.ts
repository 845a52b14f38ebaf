import { describe, expect, test } from "@jest/globals";
import { parseRequestTarget, percentDecode, percentDecodeBytes, slashCount } from "./path.js";

describe("parseRequestTarget", () => {
  test.each([
    ["/Greeter/greet", "/Greeter/greet", undefined, "/Greeter/greet"],
    ["/Greeter/greet?a=1&b", "/Greeter/greet", "a=1&b", "/Greeter/greet?a=1&b"],
    ["/Greeter/greet/", "/Greeter/greet", undefined, "/Greeter/greet"],
    ["/Greeter/greet//?q=//", "/Greeter/greet", "q=//", "/Greeter/greet?q=//"],
    ["//x", "/x", undefined, "/x"],
    ["//x/y//", "/x/y", undefined, "/x/y"],
    ["/Counter//key", "/Counter//key", undefined, "/Counter//key"],
    ["/", "/", undefined, "/"],
    ["///", "/", undefined, "/"],
    ["", "/", undefined, "/"],
    ["?q", "/", "q", "/?q"],
    ["/a/b?", "/a/b", "", "/a/b?"],
    ["/a/b?x#y", "/a/b", "x", "/a/b?x"],
    ["/a/b#y?z", "/a/b", undefined, "/a/b"],
    ["http://host:1/a/b?c", "/a/b", "c", "/a/b?c"],
    ["http://host", "/", undefined, "/"],
    ["*", "/*", undefined, "/*"],
  ])("%j", (target, path, query, full) => {
    expect(parseRequestTarget(target)).toEqual({ path, query, full });
  });

  test("bytes that are UTF-8 become the characters they mean", () => {
    expect(parseRequestTarget("/Counter/\u00c3\u00bc/key").path).toBe("/Counter/ü/key");
  });

  test("bytes that are not UTF-8 stay one character each", () => {
    expect(parseRequestTarget("/Counter/\u00fc/key").path).toBe("/Counter/\u00fc/key");
  });
});

describe("percentDecode", () => {
  test.each([
    ["plain", "plain"],
    ["a%2Fb%20c%2B%C3%BC", "a/b c+ü"],
    ["a+b", "a+b"],
    ["%zz", "%zz"],
    ["%", "%"],
    ["%4", "%4"],
    ["%4%41", "%4A"],
    ["%41%", "A%"],
    ["%e2%82%ac", "€"],
    ["ü%41", "üA"],
    ["%EF%BB%BFx", "\ufeffx"],
    ["", ""],
  ])("%j is %j", (raw, decoded) => {
    expect(percentDecode(raw)).toBe(decoded);
  });

  test.each(["%FF", "a%C3", "%ED%A0%80"])("%j is not UTF-8", (raw) => {
    expect(percentDecode(raw)).toBeUndefined();
  });

  test("decoding to bytes keeps what is not UTF-8", () => {
    expect([...percentDecodeBytes("%FFa")]).toEqual([255, 97]);
  });
});

test("slashes are counted", () => {
  expect(["", "/", "/a/b", "/a//b/"].map(slashCount)).toEqual([0, 1, 2, 4]);
});
