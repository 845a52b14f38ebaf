/** Rules about how often invocations start: what they may say, and what is refused. */
import { describe, expect, test } from "@jest/globals";
import { parseDebounceRule, parseThrottleRule } from "./pacing.js";

const HOUR_MS = 3_600_000;

describe("parseDebounceRule", () => {
  test.each([
    ["5s", { quietMs: 5_000, maxMs: 50_000, key: undefined }],
    ["PT5S;max=1m", { quietMs: 5_000, maxMs: 60_000, key: undefined }],
    [" 500ms ; MAX = 500ms ; key = customer-7 ", { quietMs: 500, maxMs: 500, key: "customer-7" }],
    ["1s;key=a=b,c d;max=2s", { quietMs: 1_000, maxMs: 2_000, key: "a=b,c d" }],
    ["24h", { quietMs: 24 * HOUR_MS, maxMs: 168 * HOUR_MS, key: undefined }],
  ])("reads %j", (text, value) => {
    expect(parseDebounceRule(text)).toEqual({ ok: true, value });
  });

  test.each([
    ["", /^the duration: an empty string is not a duration/],
    ["soon", /^the duration: /],
    ["0s", /^the duration must be at least 1ms and at most 24h/],
    ["25h", /^the duration must be at least 1ms and at most 24h/],
    ["-1s", /^the duration: /],
    ["5s;max=4s", /^max is shorter than the duration/],
    ["5s;max=8d", /^max must be at least 1ms and at most 168h/],
    ["5s;max", /^max: an empty string/],
    ["5s;max=1m;max=2m", /^the parameter 'max' is unknown or repeated/],
    ["5s;key=", /^key must have 1 to 256 characters/],
    [`5s;key=${"x".repeat(257)}`, /^key must have 1 to 256 characters/],
    ["5s;leading", /^the parameter 'leading' is unknown or repeated/],
    ["5s;limit=3", /^the parameter 'limit' is unknown or repeated/],
    ["5s;", /^the parameter '' is unknown or repeated/],
  ])("refuses %j", (text, reason) => {
    expect(parseDebounceRule(text)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });
});

describe("parseThrottleRule", () => {
  test.each([
    ["1m", { periodMs: 60_000, limit: 1, key: undefined, over: "reject" }],
    ["PT1S; limit = 10 ;key=k;over=join", { periodMs: 1_000, limit: 10, key: "k", over: "join" }],
    ["24h;limit=1000000;over=reject", { periodMs: 24 * HOUR_MS, limit: 1_000_000, key: undefined, over: "reject" }],
  ])("reads %j", (text, value) => {
    expect(parseThrottleRule(text)).toEqual({ ok: true, value });
  });

  test.each([
    ["", /^the duration: an empty string is not a duration/],
    ["0s", /^the duration must be at least 1ms and at most 24h/],
    ["25h", /^the duration must be at least 1ms and at most 24h/],
    ["1m;limit=0", /^limit must be a whole number from 1 to 1000000/],
    ["1m;limit=1.5", /^limit must be a whole number/],
    ["1m;limit=1000001", /^limit must be a whole number/],
    ["1m;limit=1;limit=2", /^the parameter 'limit' is unknown or repeated/],
    ["1m;over=delay", /^over must be reject or join/],
    ["1m;max=2m", /^the parameter 'max' is unknown or repeated/],
    ["1m;key=", /^key must have 1 to 256 characters/],
  ])("refuses %j", (text, reason) => {
    expect(parseThrottleRule(text)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });
});
