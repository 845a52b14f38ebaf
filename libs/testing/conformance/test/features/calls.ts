/** Calls between services: results, errors, order, identity. */
import { describe, expect } from "@jest/globals";
import { errorOf, eventually, invocationIdOf } from "../../src/index.js";
import type { Scenario, Stage } from "./stage.js";

const listOf = (stage: Stage, key: string) => stage.callOn("Store", key, "get", "list");

export function describeCalls(scenario: Scenario): void {
  describe("a call from a handler", () => {
    scenario("gives the callee's result, in any serde", async (stage) => {
      expect(await stage.call("Calls", "echo", { deep: ["ü", null] })).toEqual({ deep: ["ü", null] });
      expect(await stage.call("Calls", "nothing")).toBe("nothing");
      expect(await stage.call("Calls", "bytes", [9, 0, 255])).toEqual([9, 0, 255]);
    });

    scenario("may be one of a hundred", async (stage) => {
      expect(await stage.call("Calls", "crowd", 100)).toBe(4950);
    });

    scenario("may be one of a long chain", async (stage) => {
      expect(await stage.call("Calls", "chain", 12)).toBe(12);
    });

    scenario("knows the callee's id before its result", async (stage) => {
      const { id, described } = await stage.call<{ id: string; described: string }>("Calls", "idOfCall");
      expect(id).toMatch(/^inv_1[0-9a-zA-Z]{33}$/);
      expect(described).toBe(id);
    });

    scenario("passes on the caller's headers and nothing else", async (stage) => {
      expect(await stage.call("Calls", "headers")).toEqual({ "x-hop": "one", "x-words": "two words" });
    });

    scenario("may name its target in plain words and bytes", async (stage) => {
      expect(await stage.call("Calls", "generic", { service: stage.service("Echo"), method: "bytes", bytes: [1, 2] })).toEqual([
        1, 2,
      ]);
      const key = stage.key();
      const bytes = await stage.call<number[]>("Calls", "generic", {
        service: stage.service("Store"),
        method: "key",
        key,
        bytes: [],
      });
      expect(Buffer.from(bytes).toString()).toBe(JSON.stringify(key));
    });

    scenario("meets the callee's terminal error with code, message and metadata", async (stage) => {
      const terminal = { message: "no tea", code: 418, ...(stage.variant.version === 5 ? {} : { metadata: { a: "b" } }) };
      expect(await stage.call("Calls", "caught", terminal)).toEqual({ metadata: {}, ...terminal });
    });

    scenario("lets a terminal error rise through a chain to the ingress", async (stage) => {
      const terminal = { message: "from below", code: 477, ...(stage.variant.version === 5 ? {} : { metadata: { depth: "4" } }) };
      const answer = await stage.try("Calls", "chainOfFailure", { depth: 4, terminal });
      expect(answer.status).toBe(477);
      expect(errorOf(answer)).toMatchObject({ ...terminal, source: "invocation" });
    });

    scenario("can be cancelled by its caller", async (stage) => {
      expect(await stage.call("Calls", "cancelCall")).toEqual({ code: 409 });
    });
  });

  describe("calls and sends to one object", () => {
    for (const waits of [
      [false, false, false],
      [true, false, true],
      [false, true, false, false],
      [true, true, true],
    ]) {
      const order = waits.map((wait) => (wait ? "call" : "send")).join(", ");
      scenario(`arrive in the order in which they were made: ${order}`, async (stage) => {
        expect(await stage.call("Calls", "order", { key: stage.key(), waits })).toEqual([...waits.keys(), "end"]);
      });
    }
  });

  describe("a send from a handler", () => {
    scenario("runs by itself and can be attached to by its id", async (stage) => {
      const key = stage.key();
      const id = await stage.call<string>("Calls", "send", { key, item: "sent" });
      expect(await stage.outcomeOfSent(id)).toEqual(["sent"]);
      expect(await stage.call("Calls", "attachTo", id)).toEqual(["sent"]);
    });

    scenario("may be made for later", async (stage) => {
      const key = stage.key();
      const startedAt = performance.now();
      // Long enough for a busy machine to read the list before.
      const id = await stage.call<string>("Calls", "send", { key, item: "later", delay: 3_000 });
      expect(await listOf(stage, key)).toBeNull();
      expect(await stage.outcomeOfSent(id)).toEqual(["later"]);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2_999);
    });

    scenario("may name its target in plain words and bytes, for later too", async (stage) => {
      const key = stage.key();
      const id = await stage.call<string>("Calls", "genericSend", { key, item: "generic", delay: 50 });
      expect(await stage.outcomeOfSent(id)).toEqual(["generic"]);
    });

    scenario("made for later can be cancelled before it starts", async (stage) => {
      const key = stage.key();
      const id = await stage.call<string>("Calls", "cancelScheduled", { key, item: "never" });
      await eventually("its end", async () => (await stage.ingress.output(id)).status !== 470);
      expect(await listOf(stage, key)).toBeNull();
    });
  });

  describe("an idempotency key from a handler", () => {
    scenario("makes two calls one", async (stage) => {
      const key = stage.key();
      expect(await stage.call("Calls", "twice", { key, item: 1, idempotencyKey: key })).toEqual([[1], [1]]);
      expect(await listOf(stage, key)).toEqual([1]);
    });

    scenario("is the same key at the ingress", async (stage) => {
      const key = stage.key();
      const id = await stage.call<string>("Calls", "send", { key, item: 1, idempotencyKey: key });
      expect(await stage.call("Calls", "send", { key, item: 2, idempotencyKey: key })).toBe(id);
      const answer = await stage.ingress.call([stage.service("Store"), key, "append"], 3, { idempotencyKey: key });
      expect(invocationIdOf(answer)).toBe(id);
      expect(answer.json).toEqual([1]);
      expect(await stage.call("Calls", "attach", { key, item: 4, idempotencyKey: key })).toEqual([1]);
    });
  });
}
