/** Awakeables and named signals reach their invocation from handlers and from outside, once. */
import { describe, expect, test } from "@jest/globals";
import { eventually, probe } from "../../src/index.js";
import { awaited } from "../../src/services/index.js";
import type { Stage } from "./stage.js";

export function describeSignals(stage: Stage): void {
  async function waiting(handler: string): Promise<{ readonly id: string; readonly invocationId: string }> {
    const name = stage.key();
    const { invocationId } = await stage.send("Awakeables", handler, name);
    const id = await eventually("the awakeable", () => probe.get<string>(awaited(name)));
    return { id, invocationId };
  }

  describe("an awakeable", () => {
    test("is resolved from outside; the first completion counts", async () => {
      const { id, invocationId } = await waiting("wait");
      expect((await stage.ingress.resolveAwakeable(id, { from: "outside" })).status).toBe(202);
      expect((await stage.ingress.resolveAwakeable(id, "too late")).status).toBe(202);
      expect(await stage.ingress.outcome(invocationId)).toEqual({ value: { from: "outside" } });
      expect((await stage.ingress.resolveAwakeable(id, "much too late")).status).toBe(202);
    });

    test("is resolved with bytes, or with none", async () => {
      const some = await waiting("waitBytes");
      const path = `/restate/a/${some.id}/resolve`;
      await stage.ingress.http.request("POST", path, { body: Uint8Array.of(0, 255, 1) });
      expect(await stage.ingress.outcome(some.invocationId)).toEqual([0, 255, 1]);
      const none = await waiting("waitBytes");
      await stage.ingress.http.request("POST", `/restate/awakeables/${none.id}/resolve`);
      expect(await stage.ingress.outcome(none.invocationId)).toEqual([]);
    });

    test("is rejected from outside", async () => {
      const { id, invocationId } = await waiting("wait");
      expect((await stage.ingress.rejectAwakeable(id, "denied ü")).status).toBe(202);
      expect(await stage.ingress.outcome(invocationId)).toEqual({ code: 500, message: "denied ü" });
    });

    test("is resolved and rejected by handlers", async () => {
      const resolved = await waiting("wait");
      await stage.call("Awakeables", "resolve", { id: resolved.id, value: [1] });
      expect(await stage.ingress.outcome(resolved.invocationId)).toEqual({ value: [1] });
      const rejected = await waiting("wait");
      await stage.call("Awakeables", "reject", { id: rejected.id, reason: "no", code: 433 });
      expect(await stage.ingress.outcome(rejected.invocationId)).toEqual({ code: 433, message: "no" });
    });

    test("may be resolved before anybody waits for it", async () => {
      expect(await stage.call("Awakeables", "early", "at once")).toBe("at once");
    });

    test("may be one of many, resolved in any order", async () => {
      const name = stage.key();
      const { invocationId } = await stage.send("Awakeables", "waitMany", { name, count: 10 });
      const ids = await eventually("the awakeables", () => probe.get<string[]>(awaited(name)));
      for (const [i, id] of [...ids.entries()].reverse()) await stage.ingress.resolveAwakeable(id, i);
      expect(await stage.ingress.outcome(invocationId)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });
  });

  describe("a named signal", () => {
    const raise = (id: string, name: string, ...values: unknown[]) => stage.call("Signals", "raise", { id, name, values });

    test("is resolved or refused by its name", async () => {
      const one = await stage.send("Signals", "one", "approve");
      await raise(one.invocationId, "other", "not this one");
      await raise(one.invocationId, "approve", { by: "me" });
      expect(await stage.ingress.outcome(one.invocationId)).toEqual({ value: { by: "me" } });
      const two = await stage.send("Signals", "one", "approve");
      await stage.call("Signals", "refuse", { id: two.invocationId, name: "approve", reason: "not now" });
      expect(await stage.ingress.outcome(two.invocationId)).toEqual({ code: 500, message: "not now" });
    });

    test("is awaited beside another, in any order", async () => {
      const { invocationId } = await stage.send("Signals", "both");
      await raise(invocationId, "b", 2);
      await raise(invocationId, "a", 1);
      expect(await stage.ingress.outcome(invocationId)).toEqual([1, 2]);
    });

    test("may come many times, each for the next who waits", async () => {
      const { invocationId } = await stage.send("Signals", "stream");
      await raise(invocationId, "stream", ...[1, 2, 3].map((value) => ({ done: false, value })), { done: true });
      expect(await stage.ingress.outcome(invocationId)).toEqual([1, 2, 3]);
    });

    test("that does not come meets its timeout", async () => {
      expect(await stage.call("Signals", "timeout")).toBe(true);
    });
  });
}
