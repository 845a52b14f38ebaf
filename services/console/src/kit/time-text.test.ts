import { expect, test } from "@jest/globals";
import { ago, clockText, DURATION_STEPS, dateTimeText, durationText, exactMoment, zonedText } from "./time-text.js";

test.each([
  [0, "0 ms"],
  [0.84, "840 µs"],
  [12.4, "12 ms"],
  [1_240, "1.24 s"],
  [12_340, "12.3 s"],
  [36_000, "36 s"],
  [185_000, "3 min 5 s"],
  [180_000, "3 min"],
  [59_999.6, "60.0 s"],
  [3_600_000, "1 h"],
  [187_200_000, "2 d 4 h"],
  [-1_500, "−1.50 s"],
])("%d ms is %s", (ms, text) => expect(durationText(ms)).toBe(text));

test("a moment is shown by its distance, and as a date when it is long ago", () => {
  const now = Date.UTC(2026, 10, 22, 12);
  expect([now - 400, now - 12_000, now - 200_000, now + 7_300_000].map((at) => ago(at, now))).toEqual([
    "just now",
    "12 s ago",
    "3 min ago",
    "in 2 h",
  ]);
  expect(ago(now - 40 * 86_400_000, now)).toMatch(/2026/);
  expect(exactMoment(now)).toContain("2026-11-22T12:00:00.000Z");
});

test("clocks have 24 hours, in the language of the reader", () => {
  const noon = Date.UTC(2026, 10, 22, 15, 4, 9);
  const texts = [clockText(noon), clockText(noon, true), dateTimeText(noon), dateTimeText(noon, true), exactMoment(noon)];
  expect(texts.filter((text) => /[AP]M/.test(text))).toEqual([]);
  expect(zonedText(noon, "Europe/Berlin")).toMatch(/16:04:09/);
});

test("labels at an axis of durations are round: each step is one number of one unit, and all steps rise", () => {
  expect(DURATION_STEPS.map(durationText).filter((text) => text.split(" ").length !== 2)).toEqual([]);
  expect([...DURATION_STEPS].sort((a, b) => a - b)).toEqual(DURATION_STEPS);
  expect(DURATION_STEPS.filter((ms) => ms >= 5_000 && ms < 120_000).map(durationText)).toEqual([
    "5 s",
    "10 s",
    "15 s",
    "30 s",
    "1 min",
  ]);
});
