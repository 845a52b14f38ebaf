import { expect, test } from "@jest/globals";
import { type Clock, systemClock } from "./clock.js";
import { StopSignals } from "./stop-signals.js";

function signalsAt() {
  const time = { ms: 1_000 };
  const clock: Clock = { ...systemClock, monotonicMs: () => time.ms };
  return { time, signals: new StopSignals(clock) };
}

test("the copy of a signal that the parent forwards is the same request", () => {
  const { time, signals } = signalsAt();
  expect(signals.receive("SIGTERM")).toBe("stop");
  time.ms += 20;
  expect(signals.receive("SIGTERM")).toBe("duplicate");
});

test("a signal that is repeated later, or another one, ends the process at once", () => {
  const { time, signals } = signalsAt();
  expect(signals.receive("SIGINT")).toBe("stop");
  time.ms += 501;
  expect(signals.receive("SIGINT")).toBe("at-once");
  const others = signalsAt().signals;
  expect(others.receive("SIGINT")).toBe("stop");
  expect(others.receive("SIGTERM")).toBe("at-once");
});
