import { expect, test } from "@jest/globals";
import type { Cause } from "./causes.js";
import { type Mark, marksOf, reviewed, withMark, withoutMark } from "./marks.js";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.parse("2026-11-26T12:00:00Z");

const aCause = (changes: Partial<Cause> = {}): Cause => ({
  service: "Mail",
  handler: "send",
  status: "backing-off",
  code: "500",
  count: 7,
  invocationId: "inv_1",
  failure: "mailbox 17 is full",
  at: "2026-11-26T11:59:00Z",
  deployment: undefined,
  caller: undefined,
  callers: [],
  ...changes,
});

const isOpen = (cause: Cause, marks: readonly Mark[], nowMs = NOW_MS) => reviewed([cause], marks, nowMs).open.length === 1;

test("an acknowledged failure is out of the way, however its numbers and ids change, until more invocations have it", () => {
  const marks = withMark([], aCause(), NOW_MS, undefined);
  expect(isOpen(aCause(), marks)).toBe(false);
  expect(isOpen(aCause({ failure: "mailbox 18 is full", count: 3, at: "2026-11-26T12:10:00Z" }), marks)).toBe(false);
  expect(reviewed([aCause({ count: 8 })], marks, NOW_MS)).toMatchObject({ open: [{ isWorse: true }], marked: [] });
  expect(isOpen(aCause({ failure: "no such mailbox" }), marks)).toBe(true);
  expect(isOpen(aCause({ handler: "sendAll" }), marks)).toBe(true);
  expect(isOpen(aCause(), marks, NOW_MS + 8 * 24 * HOUR_MS)).toBe(true);
});

test("of completed invocations a later failure counts, as the number falls with time", () => {
  const marks = withMark([], aCause({ status: "failed" }), NOW_MS, undefined);
  expect(isOpen(aCause({ status: "failed", count: 2 }), marks)).toBe(false);
  expect(isOpen(aCause({ status: "failed", count: 2, at: "2026-11-26T12:00:01Z" }), marks)).toBe(true);
});

test("a muted failure is hidden until its time is over, whatever happens", () => {
  const marks = withMark([], aCause(), NOW_MS, HOUR_MS);
  expect(isOpen(aCause({ count: 5_000 }), marks, NOW_MS + HOUR_MS - 1)).toBe(false);
  expect(isOpen(aCause(), marks, NOW_MS + HOUR_MS)).toBe(true);
});

test("a mark replaces the last one of its failure, and can be removed", () => {
  const marks = withMark(withMark([], aCause(), NOW_MS, HOUR_MS), aCause({ count: 9 }), NOW_MS, undefined);
  expect(marks).toHaveLength(1);
  expect(withoutMark(marks, aCause())).toEqual([]);
  const many = Array.from({ length: 200 + 5 }, (_, i) => aCause({ handler: `h${i}` }));
  expect(many.reduce<readonly Mark[]>((sum, cause) => withMark(sum, cause, NOW_MS, undefined), [])).toHaveLength(200);
});

test("what is stored is read again, and anything else is nothing", () => {
  const marks = withMark([], aCause(), NOW_MS, undefined);
  expect(marksOf(JSON.stringify(marks))).toEqual(marks);
  expect([null, "", "{", "[1]", '{"a":1}'].map(marksOf)).toEqual([[], [], [], [], []]);
});
