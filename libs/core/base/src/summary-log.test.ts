import { expect, test } from "@jest/globals";
import type { Clock } from "./clock.js";
import { SUMMARY_KINDS_MAX, SUMMARY_LINES_IN_FULL, SUMMARY_LINES_MAX, SUMMARY_PERIOD_MS } from "./limits.js";
import { type Logger, silentLogger } from "./logger.js";
import { SummaryLog } from "./summary-log.js";

/** Time passes when a test advances it; one timer at a time is sufficient here. */
class HandClock implements Clock {
  #nowMs = 0;
  #timer: { readonly dueMs: number; readonly fire: () => void } | undefined;
  nowMs = () => this.#nowMs;
  monotonicMs = () => this.#nowMs;
  setTimer(delayMs: number, fire: () => void) {
    expect(this.#timer).toBeUndefined();
    this.#timer = { dueMs: this.#nowMs + delayMs, fire };
    return { cancel: () => (this.#timer = undefined) };
  }
  advanceBy(ms: number): void {
    this.#nowMs += ms;
    const timer = this.#timer;
    if (timer === undefined || timer.dueMs > this.#nowMs) return;
    this.#timer = undefined;
    timer.fire();
  }
  get pendingTimers(): number {
    return this.#timer === undefined ? 0 : 1;
  }
}

function aLog() {
  const clock = new HandClock();
  const lines: Record<string, unknown>[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields, message) => lines.push({ ...fields, message }) };
  const log = new SummaryLog(logger, clock);
  const fail = (times: number, service = "Svc", code = "RT0010"): void => {
    for (let n = 1; n <= times; n++) log.warn(logger, { service, code }, { attempt: n }, "attempt failed");
  };
  return { clock, lines, log, fail };
}

test("a few lines are logged as they are, and leave no timer", () => {
  const { clock, lines, fail } = aLog();
  fail(SUMMARY_LINES_IN_FULL);
  expect(lines).toHaveLength(SUMMARY_LINES_IN_FULL);
  expect(lines[0]).toEqual({ service: "Svc", attempt: 1, message: "attempt failed" });
  expect(clock.pendingTimers).toBe(0);
});

test("ten thousand are the first ones and a summary with their number, and the next period begins anew", () => {
  const { clock, lines, fail } = aLog();
  fail(10_000);
  clock.advanceBy(SUMMARY_PERIOD_MS);
  expect(lines).toHaveLength(SUMMARY_LINES_IN_FULL + 1);
  expect(lines.at(-1)).toEqual({
    service: "Svc",
    code: "RT0010",
    count: 10_000,
    countOnly: 10_000 - SUMMARY_LINES_IN_FULL,
    seconds: SUMMARY_PERIOD_MS / 1000,
    summaryOf: "attempt failed",
    last: { attempt: 10_000 },
    message: "many lines of one kind",
  });
  fail(1);
  expect(lines.at(-1)).toMatchObject({ attempt: 1 });
  expect(clock.pendingTimers).toBe(0);
});

test("services and codes are counted each for itself: a rare failure is not lost beside a frequent one", () => {
  const { lines, fail } = aLog();
  fail(10_000, "Bad");
  fail(1, "Good");
  fail(1, "Bad", "RT0001");
  expect(lines.slice(SUMMARY_LINES_IN_FULL).map(({ service }) => service)).toEqual(["Good", "Bad"]);
});

test("failures far apart are all logged in full", () => {
  const { clock, lines, fail } = aLog();
  for (let n = 0; n < 100; n++) {
    fail(1);
    clock.advanceBy(SUMMARY_PERIOD_MS / 10);
  }
  expect(lines).toHaveLength(100);
});

test("lines and memory are bounded however many kinds there are", () => {
  const { clock, lines, fail } = aLog();
  const kinds = 3 * SUMMARY_KINDS_MAX;
  for (let n = 0; n < kinds; n++) fail(SUMMARY_LINES_IN_FULL + 1, `Svc${n}`);
  const before = lines.length;
  expect(before).toBe((SUMMARY_KINDS_MAX + 1) * SUMMARY_LINES_IN_FULL);
  clock.advanceBy(SUMMARY_PERIOD_MS);
  const summaries = lines.slice(before);
  expect(summaries).toHaveLength(SUMMARY_LINES_MAX + 1);
  expect(summaries[0]).toMatchObject({ service: "other", count: 2 * SUMMARY_KINDS_MAX * (SUMMARY_LINES_IN_FULL + 1) });
  expect(summaries.at(-1)).toMatchObject({ kinds: SUMMARY_KINDS_MAX + 1 - SUMMARY_LINES_MAX });
});

test("what was counted is not lost when the process ends", () => {
  const { lines, log, fail } = aLog();
  fail(100);
  log[Symbol.dispose]();
  expect(lines.at(-1)).toMatchObject({ count: 100 });
});
