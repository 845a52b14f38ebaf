/** The header that debounces a request: what it may say, and what is refused. */
import { describe, expect, test } from "@jest/globals";
import { parseDebounce } from "./debounce.js";

const HOUR_MS = 3_600_000;

describe("parseDebounce", () => {
  test.each([
    ["5s", { quietMs: 5_000, maxMs: 50_000, key: undefined }],
    ["PT5S;max=1m", { quietMs: 5_000, maxMs: 60_000, key: undefined }],
    [" 500ms ; MAX = 500ms ; key = customer-7 ", { quietMs: 500, maxMs: 500, key: "customer-7" }],
    ["1s;key=a=b,c d;max=2s", { quietMs: 1_000, maxMs: 2_000, key: "a=b,c d" }],
    ["24h", { quietMs: 24 * HOUR_MS, maxMs: 168 * HOUR_MS, key: undefined }],
  ])("reads %j", (header, expected) => {
    expect(parseDebounce(header)).toEqual(expected);
  });

  test.each([
    ["", /an empty string is not a duration/],
    ["soon", /the duration: /],
    ["0s", /the duration must be at least 1ms and at most 24h/],
    ["25h", /the duration must be at least 1ms and at most 24h/],
    ["-1s", /the duration: /],
    ["5s;max=4s", /max is shorter than the duration/],
    ["5s;max=8d", /max must be at least 1ms and at most 168h/],
    ["5s;max", /max: an empty string/],
    ["5s;max=1m;max=2m", /the parameter 'max' is unknown or repeated/],
    ["5s;key=", /key must have 1 to 256 characters/],
    [`5s;key=${"x".repeat(257)}`, /key must have 1 to 256 characters/],
    ["5s;leading", /the parameter 'leading' is unknown or repeated/],
    ["5s;", /the parameter '' is unknown or repeated/],
    ["5s;key=\u00fc", /not printable ASCII/],
  ])("refuses %j, and says what is allowed", (header, reason) => {
    const refused = parseDebounce(header);
    expect(refused).toMatchObject({ kind: "refused", code: "ING0010", status: 400, message: expect.stringMatching(reason) });
    expect(refused).toMatchObject({
      message: expect.stringMatching(/^bad header x-restate-debounce: .* Expected a duration, .*: 5s;max=1m;key=customer-7$/),
    });
  });
});
