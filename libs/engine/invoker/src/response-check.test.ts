import { describe, expect, test } from "@jest/globals";
import { responseFailure, retryAfterMs } from "./response-check.js";

const type = "application/vnd.restate.invocation.v6";
const now = Date.parse("2026-11-21T08:00:00Z");

describe("the response head", () => {
  test("is fine with a 2xx status and exactly our content type", () => {
    expect(
      responseFailure(200, { "content-type": type, "x-restate-server": "restate-sdk-typescript/1.17.2" }, type, now),
    ).toBeUndefined();
    expect(responseFailure(204, { "content-type": type }, type, now)).toBeUndefined();
  });

  test.each([
    ["no content type", 200, {}, "RT0012", 500, true],
    ["another content type", 200, { "content-type": "application/json" }, "RT0012", 500, true],
    ["another version", 200, { "content-type": "application/vnd.restate.invocation.v7" }, "RT0012", 500, true],
    ["a parameter", 200, { "content-type": `${type}; charset=utf-8` }, "RT0012", 500, true],
    ["a server name that is not text", 200, { "content-type": type, "x-restate-server": "sdk\u00e9" }, "RT0012", 500, true],
    ["415", 415, {}, "RT0015", 415, false],
    ["413", 413, {}, "RT0019", 500, true],
    ["502", 502, {}, "RT0010", 500, true],
    ["504", 504, {}, "RT0010", 500, true],
    ["429", 429, {}, "RT0023", 500, true],
    ["503", 503, {}, "RT0023", 500, true],
    ["401", 401, {}, "RT0012", 500, true],
    ["404", 404, {}, "RT0012", 500, true],
    ["500", 500, {}, "RT0012", 500, true],
    ["a redirect", 302, {}, "RT0012", 500, true],
  ] as const)("%s", (_what, status, headers, errorCode, code, countsForSdk) => {
    expect(responseFailure(status, headers, type, now)).toMatchObject({
      error: { errorCode, code },
      countsForSdk,
      behavior: "retry",
    });
  });

  test.each([
    ["2", 2_000],
    [" 0 ", 0],
    ["Sat, 21 Nov 2026 08:00:03 GMT", 3_000],
    ["Sat, 21 Nov 2026 07:59:59 GMT", undefined],
    ["soon", undefined],
    ["-1", undefined],
    ["1.5e3", undefined],
    [undefined, undefined],
  ])("Retry-After %p delays by %p ms", (value, delay) => {
    expect(retryAfterMs(value, now)).toBe(delay);
    expect(responseFailure(503, { "retry-after": value }, type, now)?.nextRetryDelayMs).toBe(delay);
    expect(responseFailure(500, { "retry-after": value }, type, now)?.nextRetryDelayMs).toBeUndefined();
  });
});
