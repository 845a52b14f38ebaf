/** Calls between services: results, errors, order, identity. */
import { describe, expect, test } from "@jest/globals";
import { errorOf, eventually, invocationIdOf } from "../../src/index.js";
import type { Stage } from "./stage.js";

export function describeCalls(stage: Stage): void {
  const store = (key: string, handler: string, argument?: unknown) => stage.callOn("Store", key, handler, argument);

  describe("a call from a handler", () => {
    test("gives the callee's result, in any serde", async () => {
      expect(await stage.call("Calls", "echo", { deep: ["ü", null] })).toEqual({ deep: ["ü", null] });
      expect(await stage.call("Calls", "nothing")).toBe("nothing");
      expect(await stage.call("Calls", "bytes", [9, 0, 255])).toEqual([9, 0, 255]);
    });

    test("may be one of a hundred", async () => {
      expect(await stage.call("Calls", "crowd", 100)).toBe(4950);
    });

    test("may be one of a long chain", async () => {
      expect(await stage.call("Calls", "chain", 12)).toBe(12);
    });

    test("knows the callee's id before its result", async () => {
      const { id, described } = await stage.call<{ id: string; described: string }>("Calls", "idOfCall");
      expect(id).toMatch(/^inv_1[0-9a-zA-Z]{33}$/);
      expect(described).toBe(id);
    });

    test("passes on the caller's headers and nothing else", async () => {
      expect(await stage.call("Calls", "headers")).toEqual({ "x-hop": "one", "x-words": "two words" });
    });

    test("may name its target in plain words and bytes", async () => {
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

    test("meets the callee's terminal error with code, message and metadata", async () => {
      const terminal = { message: "no tea", code: 418, ...(stage.variant.version === 5 ? {} : { metadata: { a: "b" } }) };
      expect(await stage.call("Calls", "caught", terminal)).toEqual({ metadata: {}, ...terminal });
    });

    test("lets a terminal error rise through a chain to the ingress", async () => {
      const terminal = { message: "from below", code: 477, ...(stage.variant.version === 5 ? {} : { metadata: { depth: "4" } }) };
      const answer = await stage.try("Calls", "chainOfFailure", { depth: 4, terminal });
      expect(answer.status).toBe(477);
      expect(errorOf(answer)).toMatchObject({ ...terminal, source: "invocation" });
    });

    test("can be cancelled by its caller", async () => {
      expect(await stage.call("Calls", "cancelCall")).toEqual({ code: 409 });
    });
  });

  describe("calls and sends to one object", () => {
    test.each([[[false, false, false]], [[true, false, true]], [[false, true, false, false]], [[true, true, true]]])(
      "arrive in the order in which they were made: %j",
      async (waits) => {
        expect(await stage.call("Calls", "order", { key: stage.key(), waits })).toEqual([...waits.keys(), "end"]);
      },
    );
  });

  describe("a send from a handler", () => {
    test("runs by itself and can be attached to by its id", async () => {
      const key = stage.key();
      const id = await stage.call<string>("Calls", "send", { key, item: "sent" });
      expect(await stage.ingress.outcome(id)).toEqual(["sent"]);
      expect(await stage.call("Calls", "attachTo", id)).toEqual(["sent"]);
    });

    test("may be made for later", async () => {
      const key = stage.key();
      const startedAt = performance.now();
      const id = await stage.call<string>("Calls", "send", { key, item: "later", delay: 200 });
      expect(await store(key, "get", "list")).toBeNull();
      expect(await stage.ingress.outcome(id)).toEqual(["later"]);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(199);
    });

    test("may name its target in plain words and bytes, for later too", async () => {
      const key = stage.key();
      const id = await stage.call<string>("Calls", "genericSend", { key, item: "generic", delay: 50 });
      expect(await stage.ingress.outcome(id)).toEqual(["generic"]);
    });

    test("made for later can be cancelled before it starts", async () => {
      const key = stage.key();
      const id = await stage.call<string>("Calls", "cancelScheduled", { key, item: "never" });
      await eventually("its end", async () => (await stage.ingress.output(id)).status !== 470);
      expect(await store(key, "get", "list")).toBeNull();
    });
  });

  describe("an idempotency key from a handler", () => {
    test("makes two calls one", async () => {
      const key = stage.key();
      expect(await stage.call("Calls", "twice", { key, item: 1, idempotencyKey: key })).toEqual([[1], [1]]);
      expect(await store(key, "get", "list")).toEqual([1]);
    });

    test("is the same key at the ingress", async () => {
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
