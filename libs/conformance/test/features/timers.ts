/** Sleeps end on time, whether the handler's stream stays open meanwhile or not. */
import { describe, expect, test } from "@jest/globals";
import { type Stage, suspends } from "./stage.js";

export function describeTimers(stage: Stage): void {
  describe("a sleep", () => {
    test("may follow another", async () => {
      expect(await stage.call("Timers", "sequence", { count: 5, ms: 5 })).toBe(5);
    });

    test("may be over before it begins", async () => {
      expect(await stage.call("Timers", "sequence", { count: 3, ms: 0 })).toBe(3);
    });

    test("may run beside others, which together take as long as the longest", async () => {
      const startedAt = performance.now();
      expect(await stage.call("Timers", "parallel", [150, 1, 150, 80, 150])).toBe(5);
      const tookMs = performance.now() - startedAt;
      expect(tookMs).toBeGreaterThanOrEqual(149);
      expect(tookMs).toBeLessThan(1_500);
    });

    test("suspends its handler exactly when the variant suspends", async () => {
      const attempts = await stage.call<number>("Timers", "attempts", { name: stage.key(), ms: 120 });
      expect(attempts).toBe(suspends(stage.variant) ? 2 : 1);
    });
  });

  describe("a timeout", () => {
    test("ends the waiting for something that does not come", async () => {
      expect(await stage.call("Timers", "early")).toBe(true);
      expect(await stage.call("Timers", "timedOut")).toEqual({ timeout: true, code: 408 });
    });

    test("does not disturb what comes in time", async () => {
      expect(await stage.call("Timers", "late", "in time")).toBe("in time");
    });
  });
}
