/** The timeline of invocations on a real server. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { probe, TestWorld } from "../src/index.js";
import { knotObject, promiseFlow, stuckService } from "../src/services/stuck.js";
import { explainClient, newName } from "./explain-client.js";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.invoker.max-protocol-version": 7 } });
  await world.deploy({ services: [stuckService, knotObject, promiseFlow] });
});
afterAll(() => world[Symbol.asyncDispose]());
const { explain, untilStatus, send } = explainClient(() => world);

describe("the timeline", () => {
  interface TimelineAnswer {
    readonly wall_ms: number;
    readonly totals_ms: Readonly<Record<string, number>>;
    readonly phases: readonly {
      readonly phase: string;
      readonly from: string;
      readonly to: string;
      readonly duration_ms: number;
    }[];
    readonly attempts: readonly { readonly outcome: string }[];
    readonly steps: readonly {
      readonly type: string;
      readonly name: string;
      readonly result: string;
      readonly bytes: number | null;
      readonly payload?: { readonly text: string };
    }[];
  }
  const timeline = async (id: string, query = "") => {
    const answer = await world.admin.get(`/invocations/${id}/timeline${query}`);
    expect(answer.status).toBe(200);
    const explained = answer.json as TimelineAnswer;
    expect(Object.values(explained.totals_ms).reduce((sum, each) => sum + each, 0)).toBe(explained.wall_ms);
    expect(explained.phases.reduce((sum, each) => sum + each.duration_ms, 0)).toBe(explained.wall_ms);
    return explained;
  };

  test("of a call that succeeded shows its steps, sizes only unless payloads are requested", async () => {
    const id = await send("quick", "a value");
    await world.ingress.outcome(id);
    const { phases, attempts, steps } = await timeline(id);
    expect(phases.at(-1)?.phase).toBe("completed");
    // It may have been suspended between its step and its end, which the timeline shows.
    expect(attempts.at(-1)).toMatchObject({ outcome: "completed" });
    expect(steps.map(({ type, name, result }) => [type, name, result])).toEqual([
      ["Input", "", "success"],
      ["Run", "think", "success"],
      ["Output", "", "success"],
    ]);
    expect(steps[0]).toMatchObject({ bytes: 9 });
    expect(steps[0]).not.toHaveProperty("payload");
    expect((await timeline(id, "?payloads=true")).steps[0]?.payload).toEqual({ text: '"a value"', cut: false });
    expect((await timeline(id, "?from_step=1")).steps).toHaveLength(2);
    for (const query of ["?payloads=yes", "?from_step=-1", "?from_step=a"]) {
      expect((await world.admin.get(`/invocations/${id}/timeline${query}`)).status).toBe(400);
    }
  });

  test("of a delayed, suspended and woken one distinguishes these", async () => {
    const name = newName();
    const { invocationId: id } = await world.ingress.send(["Stuck", "awaits"], name, { delay: "150ms" });
    await untilStatus(id, "suspended");
    const before = await timeline(id);
    expect(before.totals_ms["delayed"]).toBeGreaterThanOrEqual(140);
    expect(before.phases.at(-1)?.phase).toBe("suspended");
    await new Promise((resolve) => setTimeout(resolve, 120));
    await world.ingress.resolveAwakeable(String(probe.get(`awaits:${name}`)), "woken");
    await world.ingress.outcome(id);
    const after = await timeline(id);
    expect(after.totals_ms["suspended"]).toBeGreaterThanOrEqual(100);
    expect(after.attempts.map(({ outcome }) => outcome)).toEqual(["suspended", "completed"]);
  });

  test("adds up at any moment, while everything moves", async () => {
    const handlers = ["quick", "fails", "pauses", "refuses", "calls", "all", "awaits"];
    const ids = await Promise.all(
      Array.from({ length: 140 }, (_, n) =>
        n % 8 === 7
          ? world.ingress
              .send(["Knot", `crowded ${n % 3}`, "tie"], [`crowded ${(n + 1) % 3}`])
              .then(({ invocationId }) => invocationId)
          : send(handlers[n % handlers.length] as string, newName()),
      ),
    );
    const checkInvocation = async (id: string, n: number): Promise<void> => {
      // Of those that queue for a lock nothing would be left.
      if (n % 5 === 0 && n % 8 !== 7) await world.admin.invocation(id, "kill");
      if (n % 7 === 0) await world.admin.invocation(id, "resume");
      expect((await explain(id)).sentence).toMatch(/\.$/);
      await timeline(id);
    };
    for (let round = 0; round < 3; round++) await Promise.all(ids.map(checkInvocation));
  });
});
