import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { pollMetrics } from "./polled.js";

test("polls again after a failure, and returns the age of the last answer", async () => {
  let nowMs = 0;
  const due: (() => void)[] = [];
  const clock = {
    ...systemClock,
    monotonicMs: () => nowMs,
    setTimer: (_ms: number, fire: () => void) => {
      due.push(fire);
      return { cancel: () => void due.splice(due.indexOf(fire), 1) };
    },
  };
  const answers = [Promise.resolve(), Promise.reject(new Error("away")), Promise.resolve()];
  let pollCount = 0;
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));
  const polled = pollMetrics("a server", () => answers[pollCount++] as Promise<void>, { clock, logger: silentLogger });
  await nextTick();
  nowMs = 10_000;
  due.shift()?.();
  await nextTick();
  expect([pollCount, polled.ageSeconds]).toEqual([2, 10]);
  due.shift()?.();
  await nextTick();
  expect([pollCount, polled.ageSeconds]).toEqual([3, 0]);
  await polled[Symbol.asyncDispose]();
  expect(due).toEqual([]);
});
