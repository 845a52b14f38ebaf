import { describe, expect, test } from "@jest/globals";
import { parseDelay, parseQuery } from "./query.js";

describe("parseQuery", () => {
  test.each([
    ["delay=1s", { delay: "1s", limitKey: undefined }],
    ["DeLaY=1s", { delay: "1s", limitKey: undefined }],
    ["delay=1s&delay=2s", { delay: "1s", limitKey: undefined }],
    ["delay", { delay: "", limitKey: undefined }],
    ["delay=", { delay: "", limitKey: undefined }],
    ["delay=60+sec", { delay: "60 sec", limitKey: undefined }],
    ["delay=60%20sec", { delay: "60 sec", limitKey: undefined }],
    ["d%65lay=1s", { delay: "1s", limitKey: undefined }],
    ["delayx=1s&delaySeconds=5", { delay: undefined, limitKey: undefined }],
    ["limit-key=a%2Fb&limit-key=c", { delay: undefined, limitKey: "a/b" }],
    ["Limit-Key=a", { delay: undefined, limitKey: "a" }],
    ["limit-key", { delay: undefined, limitKey: "" }],
    ["delay=a=b", { delay: "a=b", limitKey: undefined }],
    ["", { delay: undefined, limitKey: undefined }],
    ["&&=&%", { delay: undefined, limitKey: undefined }],
  ])("%j", (query, expected) => {
    expect(parseQuery(query)).toEqual(expected);
  });
});

describe("parseDelay", () => {
  test.each([
    ["PT60S", 60_000],
    ["P1DT2H", 93_600_000],
    ["10s", 10_000],
    ["1 day 2 hours", 93_600_000],
    ["1h30m", 5_400_000],
    ["0s", 0],
    ["0", 0],
    ["1d 01:30:00", 91_800_000],
    ["1w", 604_800_000],
    ["PT0.5S", 500],
    ["1.5h", 5_400_000],
  ])("%j is %d ms", (text, ms) => {
    expect(parseDelay(text)).toBe(ms);
  });

  test.each(["1000", "", "-5s", "P1M", "1 year", "1 month", "abc", "9999999d", "99999999999999999d"])("%j is refused", (text) => {
    expect(parseDelay(text)).toMatchObject({
      kind: "refused",
      status: 400,
      message: expect.stringMatching(/^bad delay query parameter, must be a ISO8601 duration: ./),
    });
  });
});
