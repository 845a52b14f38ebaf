/** Steps (`ctx.run`): a result is stored and the step never runs again; a failed one is retried by its policy. */
import { describe, expect } from "@jest/globals";
import { probe } from "../../src/index.js";
import type { Scenario } from "./stage.js";

export function describeSteps(scenario: Scenario): void {
  describe("a step", () => {
    scenario("that succeeded is not repeated when its handler is", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Steps", "once", name)).toBe(`${name}:1`);
      expect(probe.count(`step:${name}`)).toBe(1);
      expect(probe.count(`attempt:${name}`)).toBe(3);
    });

    scenario("that fails is repeated until it succeeds", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Steps", "flaky", { name, failures: 3 })).toBe(4);
      expect(probe.count(`flaky:${name}`)).toBe(4);
    });

    scenario("ends in a terminal error after its last try", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Steps", "doomed", { name, tries: 3 })).toEqual({ terminal: true, code: 500, message: "always" });
      expect(probe.count(`doomed:${name}`)).toBe(3);
    });

    scenario("ends in a terminal error when its time is over", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Steps", "doomedByTime", name)).toEqual({ terminal: true });
      expect(probe.count(`doomedByTime:${name}`)).toBeGreaterThan(1);
    });

    scenario("that fails terminally is not repeated and keeps its code", async (stage) => {
      const metadata = stage.variant.version === 5 ? undefined : { where: "in a step" }; // v5 knows no metadata.
      expect(
        await stage.call("Steps", "terminal", { message: "stop", code: 466, ...(metadata === undefined ? {} : { metadata }) }),
      ).toEqual({ code: 466, message: "stop", metadata: metadata ?? {} });
    });

    scenario("of a sequence runs once although the handler fails in between", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Steps", "sequence", { name, count: 8 })).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(probe.count(`sequence:${name}`)).toBe(8);
    });

    scenario("may run beside others", async (stage) => {
      expect(await stage.call("Steps", "parallel", 20)).toBe(190);
    });

    scenario("gives results of every kind", async (stage) => {
      expect(await stage.call("Steps", "kinds")).toEqual([
        "undefined",
        null,
        { list: [1, "ü"], nested: { no: null } },
        0,
        "",
        [0, 255, 7],
        [],
        "plain",
      ]);
    });

    scenario("may give a large result, which is replayed whole", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Steps", "large", { name, size: 2_000_000 })).toBe(2_000_000);
    });

    scenario("may take longer than the inactivity timeout", async (stage) => {
      const name = stage.key();
      expect(await stage.call("Steps", "long", name)).toBe(1);
      expect(probe.count(`long:${name}`)).toBe(1);
    });
  });

  describe("what looks like chance or time", () => {
    scenario("is the same on every attempt", async (stage) => {
      const name = stage.key();
      const drawn = await stage.call("Echo", "random", name);
      const draws = probe.list(`random:${name}`);
      expect(draws.length).toBeGreaterThanOrEqual(3);
      for (const draw of draws) expect(draw).toEqual(drawn);
      const now = await stage.call("Echo", "clock", name);
      expect(new Set(probe.list(`clock:${name}`))).toEqual(new Set([now]));
    });
  });
}
