/** Sleeps end on time, whether the handler's stream stays open meanwhile or not. */
import { describe, expect } from "@jest/globals";
import { type Scenario, suspends } from "./stage.js";

export function describeTimers(scenario: Scenario): void {
  describe("a sleep", () => {
    scenario("may follow another", async (stage) => {
      expect(await stage.call("Timers", "sequence", { count: 5, ms: 5 })).toBe(5);
    });

    scenario("may be over before it begins", async (stage) => {
      expect(await stage.call("Timers", "sequence", { count: 3, ms: 0 })).toBe(3);
    });

    scenario("may run beside others, which together take as long as the longest", async (stage) => {
      // One after the other they would take almost half a minute.
      const delays = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? 600 : 601 - n));
      const startedAt = performance.now();
      expect(await stage.call("Timers", "parallel", delays)).toBe(delays.length);
      const tookMs = performance.now() - startedAt;
      expect(tookMs).toBeGreaterThanOrEqual(599);
      expect(tookMs).toBeLessThan(delays.reduce((sum, ms) => sum + ms, 0) / 2);
    });

    scenario("suspends its handler exactly when the variant suspends", async (stage) => {
      const attempts = await stage.call<number>("Timers", "attempts", { name: stage.key(), ms: 120 });
      if (suspends(stage.variant)) expect(attempts).toBeGreaterThan(1);
      else expect(attempts).toBe(1);
    });
  });

  describe("a timeout", () => {
    scenario("ends the waiting for something that does not come", async (stage) => {
      expect(await stage.call("Timers", "early")).toBe(true);
      expect(await stage.call("Timers", "timedOut")).toEqual({ timeout: true, code: 408 });
    });

    scenario("does not disturb what comes in time", async (stage) => {
      expect(await stage.call("Timers", "afterTimeout", "in time")).toBe("in time");
    });
  });
}
