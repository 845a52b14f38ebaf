import { expect, test } from "@jest/globals";
import type { Clock } from "./clock.js";
import { PerdureError } from "./errors/perdure-error.js";
import { type Logger, silentLogger } from "./logger.js";
import { RepeatedTask } from "./repeated-task.js";

/** A clock with one timer, which the test fires, and a logger that collects warnings. */
function ports() {
  const timers: { readonly delayMs: number; readonly fire: () => void }[] = [];
  const warnings: unknown[] = [];
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    setTimer(delayMs, fire) {
      const timer = { delayMs, fire };
      timers.push(timer);
      return { cancel: () => void timers.splice(timers.indexOf(timer), 1) };
    },
  };
  const logger: Logger = { ...silentLogger, warn: (fields: object, message?: string) => void warnings.push([fields, message]) };
  return { clock, logger, timers, warnings };
}

test("each run begins a pause after the last one ended", async () => {
  const { clock, logger, timers } = ports();
  const ends: (() => void)[] = [];
  const run = () => new Promise<void>((resolve) => ends.push(resolve));
  await using task = new RepeatedTask({ clock, logger, pauseMs: 100, run, failed: "failed" });
  expect([ends.length, timers.length]).toEqual([1, 0]);
  ends[0]?.();
  await task.running;
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([100]);
  timers.shift()?.fire();
  expect(ends).toHaveLength(2);
  ends[1]?.();
});

test("a run that fails is logged, and the next one follows", async () => {
  const { clock, logger, timers, warnings } = ports();
  const run = () => Promise.reject(new PerdureError("STO0001", "the database is away"));
  await using task = new RepeatedTask({ clock, logger, pauseMs: 100, run, failed: "mails could not be read; retrying" });
  await task.running;
  expect(warnings).toEqual([[{ code: "STO0001", reason: "the database is away" }, "mails could not be read; retrying"]]);
  expect(timers).toHaveLength(1);
});

test("disposing aborts the current run, waits for it, and begins no other", async () => {
  const { clock, logger, timers } = ports();
  const end = Promise.withResolvers<void>();
  let isAborted = false;
  const run = (signal: AbortSignal): Promise<void> => {
    signal.addEventListener("abort", () => {
      isAborted = true;
    });
    return end.promise;
  };
  const task = new RepeatedTask({ clock, logger, pauseMs: 100, run, failed: "failed" });
  const disposed = task[Symbol.asyncDispose]();
  expect(isAborted).toBe(true);
  end.resolve();
  await disposed;
  expect(timers).toEqual([]);
});
