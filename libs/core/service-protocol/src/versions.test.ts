import { describe, expect, test } from "@jest/globals";
import { invocationContentType, overlapsSupportedVersions, protocolVersionDefaultMax, selectVersion } from "./versions.js";

describe("the version an invocation pins", () => {
  test.each([
    { min: 5, max: 7, serverMax: 6, version: 6 },
    { min: 5, max: 7, serverMax: 7, version: 7 },
    { min: 5, max: 5, serverMax: 7, version: 5 },
    { min: 1, max: 5, serverMax: 6, version: 5 },
    { min: 6, max: 99, serverMax: 7, version: 7 },
  ] as const)("is $version for $min..$max on a server up to $serverMax", ({ min, max, serverMax, version }) => {
    expect(selectVersion(min, max, serverMax)).toEqual({ kind: "version", version });
  });

  test.each([
    { min: 7, max: 7, serverMax: 6, why: "the deployment needs more" },
    { min: 8, max: 9, serverMax: 7, why: "the deployment needs more than the server supports" },
    { min: 1, max: 4, serverMax: 7, why: "the deployment is too old" },
    { min: 6, max: 5.5, serverMax: 7, why: "there is no such version" },
  ] as const)("does not exist for $min..$max up to $serverMax: $why", ({ min, max, serverMax }) => {
    expect(selectVersion(min, max, serverMax)).toEqual({ kind: "unsupported" });
  });
});

test("a manifest is acceptable when its range touches 5 to 7", () => {
  const ranges = [
    [1, 4],
    [1, 5],
    [7, 9],
    [8, 9],
  ] as const;
  expect(ranges.map(([min, max]) => overlapsSupportedVersions(min, max))).toEqual([false, true, true, false]);
});

test("the media type names the version, and v7 is opt-in", () => {
  expect(invocationContentType(5)).toBe("application/vnd.restate.invocation.v5");
  expect(invocationContentType(7)).toBe("application/vnd.restate.invocation.v7");
  expect(protocolVersionDefaultMax).toBe(6);
});
