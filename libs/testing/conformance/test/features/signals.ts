/** Awakeables and named signals reach their invocation from handlers and from outside, once. */
import { describe, expect } from "@jest/globals";
import { eventually, probe } from "../../src/index.js";
import { awaited } from "../../src/services/index.js";
import type { Scenario, Stage } from "./stage.js";

/** An invocation that waits for an awakeable, and the awakeable's id. */
async function waiting(stage: Stage, handler: string): Promise<{ readonly id: string; readonly invocationId: string }> {
  const name = stage.key();
  const { invocationId } = await stage.send("Awakeables", handler, name);
  const id = await eventually("the awakeable", () => probe.get<string>(awaited(name)));
  return { id, invocationId };
}

const raise = (stage: Stage, id: string, name: string, ...values: unknown[]) =>
  stage.call("Signals", "raise", { id, name, values });

export function describeSignals(scenario: Scenario): void {
  describe("an awakeable", () => {
    scenario("is resolved from outside; the first completion counts", async (stage) => {
      const { id, invocationId } = await waiting(stage, "wait");
      expect((await stage.ingress.resolveAwakeable(id, { from: "outside" })).status).toBe(202);
      expect((await stage.ingress.resolveAwakeable(id, "too late")).status).toBe(202);
      expect(await stage.ingress.outcome(invocationId)).toEqual({ value: { from: "outside" } });
      expect((await stage.ingress.resolveAwakeable(id, "much too late")).status).toBe(202);
    });

    scenario("is resolved with bytes, or with none", async (stage) => {
      const some = await waiting(stage, "waitBytes");
      const path = `/restate/a/${some.id}/resolve`;
      await stage.ingress.http.request("POST", path, { body: Uint8Array.of(0, 255, 1) });
      expect(await stage.ingress.outcome(some.invocationId)).toEqual([0, 255, 1]);
      const none = await waiting(stage, "waitBytes");
      await stage.ingress.http.request("POST", `/restate/awakeables/${none.id}/resolve`);
      expect(await stage.ingress.outcome(none.invocationId)).toEqual([]);
    });

    scenario("is rejected from outside", async (stage) => {
      const { id, invocationId } = await waiting(stage, "wait");
      expect((await stage.ingress.rejectAwakeable(id, "denied ü")).status).toBe(202);
      expect(await stage.ingress.outcome(invocationId)).toEqual({ code: 500, message: "denied ü" });
    });

    scenario("is resolved and rejected by handlers", async (stage) => {
      const resolved = await waiting(stage, "wait");
      await stage.call("Awakeables", "resolve", { id: resolved.id, value: [1] });
      expect(await stage.ingress.outcome(resolved.invocationId)).toEqual({ value: [1] });
      const rejected = await waiting(stage, "wait");
      await stage.call("Awakeables", "reject", { id: rejected.id, reason: "no", code: 433 });
      expect(await stage.ingress.outcome(rejected.invocationId)).toEqual({ code: 433, message: "no" });
    });

    scenario("may be resolved before any handler waits for it", async (stage) => {
      expect(await stage.call("Awakeables", "early", "at once")).toBe("at once");
    });

    scenario("may be one of many, resolved in any order", async (stage) => {
      const name = stage.key();
      const { invocationId } = await stage.send("Awakeables", "waitMany", { name, count: 10 });
      const ids = await eventually("the awakeables", () => probe.get<string[]>(awaited(name)));
      for (const [i, id] of [...ids.entries()].reverse()) await stage.ingress.resolveAwakeable(id, i);
      expect(await stage.ingress.outcome(invocationId)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });
  });

  describe("a named signal", () => {
    scenario("is resolved or refused by its name", async (stage) => {
      const one = await stage.send("Signals", "one", "approve");
      await raise(stage, one.invocationId, "other", "not this one");
      await raise(stage, one.invocationId, "approve", { by: "me" });
      expect(await stage.ingress.outcome(one.invocationId)).toEqual({ value: { by: "me" } });
      const two = await stage.send("Signals", "one", "approve");
      await stage.call("Signals", "refuse", { id: two.invocationId, name: "approve", reason: "not now" });
      expect(await stage.ingress.outcome(two.invocationId)).toEqual({ code: 500, message: "not now" });
    });

    scenario("is awaited beside another, in any order", async (stage) => {
      const { invocationId } = await stage.send("Signals", "both");
      await raise(stage, invocationId, "b", 2);
      await raise(stage, invocationId, "a", 1);
      expect(await stage.ingress.outcome(invocationId)).toEqual([1, 2]);
    });

    scenario("may come many times, each for the next who waits", async (stage) => {
      const { invocationId } = await stage.send("Signals", "stream");
      await raise(stage, invocationId, "stream", ...[1, 2, 3].map((value) => ({ done: false, value })), { done: true });
      expect(await stage.ingress.outcome(invocationId)).toEqual([1, 2, 3]);
    });

    scenario("that does not come meets its timeout", async (stage) => {
      expect(await stage.call("Signals", "timeout")).toBe(true);
    });
  });
}
