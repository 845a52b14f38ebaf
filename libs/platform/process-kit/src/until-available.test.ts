import { describe, expect, test } from "@jest/globals";
import { type Clock, PerdureError, silentLogger } from "@perdure/base";
import { longestPauses } from "@perdure/testkit";
import { untilAvailable } from "./until-available.js";

/** Records the pauses and fires at once. */
function hasty() {
  const pauses: number[] = [];
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    setTimer(delayMs, fire) {
      pauses.push(delayMs);
      setImmediate(fire);
      return { cancel: () => undefined };
    },
  };
  return { pauses, ports: { clock, random: longestPauses, logger: silentLogger } };
}

describe("waiting for what a process stands on", () => {
  test("tries again, less and less often, until it is there", async () => {
    const { pauses, ports } = hasty();
    let tries = 0;
    const attempt = async () => {
      if (++tries < 8) throw new PerdureError("STO0001", "away");
      return "there";
    };
    expect(await untilAvailable("the database", attempt, ports, new AbortController().signal)).toBe("there");
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 2000, 2000]);
  });

  test("rejects at once with an error that waiting does not fix", async () => {
    const { ports } = hasty();
    const attempt = async () => {
      throw new PerdureError("META0010", "newer");
    };
    await expect(untilAvailable("it", attempt, ports, new AbortController().signal)).rejects.toMatchObject({ code: "META0010" });
  });

  test("gives up when the process must stop", async () => {
    const never: Clock = { nowMs: () => 0, monotonicMs: () => 0, setTimer: () => ({ cancel: () => undefined }) };
    const stop = new AbortController();
    const attempt = async () => {
      throw new PerdureError("STO0001", "away");
    };
    const waiting = untilAvailable("it", attempt, { clock: never, logger: silentLogger }, stop.signal);
    setImmediate(() => stop.abort());
    await expect(waiting).rejects.toMatchObject({ code: "OPS0004" });
  });
});
