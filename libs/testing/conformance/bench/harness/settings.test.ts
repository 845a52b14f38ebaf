import { expect, test } from "@jest/globals";
import { roundsOf, settingsIn } from "./settings.js";

test("without settings both servers and both endpoints are measured in three rounds of eight seconds", () => {
  const settings = settingsIn({ FILTER: "", OTHER: "" });
  expect(settings).toMatchObject({
    patterns: [],
    endpoints: ["rust", "typescript"],
    servers: ["perdure", "reference"],
    seconds: 8,
  });
  expect([roundsOf(settings, false), roundsOf(settings, true)]).toEqual([3, 1]);
});

test("a short run has one round", () => {
  expect(roundsOf(settingsIn({ QUICK: "1" }), false)).toBe(1);
});

test("another build is measured beside this one", () => {
  expect(settingsIn({ OTHER: "/x/perdure" })).toMatchObject({ servers: ["perdure", "other", "reference"], other: "/x/perdure" });
});

test("values that mean nothing are refused", () => {
  expect(() => settingsIn({ SERVERS: "other" })).toThrow("SERVERS is one or more of perdure, reference, not other");
  expect(() => settingsIn({ ROUNDS: "many" })).toThrow("ROUNDS is a positive number, not many");
});
