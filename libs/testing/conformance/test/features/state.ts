/** State of virtual objects: what handlers write is what later handlers read, eagerly or lazily, once per write. */
import { describe, expect } from "@jest/globals";
import { eventually, probe } from "../../src/index.js";
import type { Scenario, Stage } from "./stage.js";

/** One object of the variant's. */
function objectOf(stage: Stage) {
  const key = stage.key();
  return { call: <T>(handler: string, argument?: unknown) => stage.callOn<T>("Store", key, handler, argument) };
}

export function describeState(scenario: Scenario): void {
  describe("state", () => {
    scenario("is kept per object and key", async (stage) => {
      const [a, b] = [objectOf(stage), objectOf(stage)];
      expect(await a.call("get", "x")).toBeNull();
      await a.call("put", { x: { deep: [1, "ü"] }, y: 0 });
      expect(await a.call("get", "x")).toEqual({ deep: [1, "ü"] });
      expect(await a.call("get", "y")).toBe(0);
      expect(await b.call("keys")).toEqual([]);
      await a.call("put", { x: "other" });
      expect(await a.call("get", "x")).toBe("other");
      await a.call("clear", "x");
      expect(await a.call("keys")).toEqual(["y"]);
    });

    scenario("keeps values of every kind apart: empty, null, false, zero", async (stage) => {
      const object = objectOf(stage);
      await object.call("put", { empty: "", nil: null, no: false, zero: 0, list: [] });
      for (const [key, value] of Object.entries({ empty: "", nil: null, no: false, zero: 0, list: [] })) {
        expect(await object.call("get", key)).toEqual(value);
      }
      expect(await object.call("keys")).toEqual(["empty", "list", "nil", "no", "zero"]);
    });

    scenario("keeps bytes as they are, none included", async (stage) => {
      const object = objectOf(stage);
      const all = Array.from({ length: 256 }, (_, i) => i);
      await object.call("putBytes", { key: "all", bytes: all });
      await object.call("putBytes", { key: "none", bytes: [] });
      expect(await object.call("getBytes", "all")).toEqual(all);
      expect(await object.call("getBytes", "none")).toEqual([]);
      expect(await object.call("getBytes", "missing")).toBeNull();
    });

    scenario("clears all of a key at once", async (stage) => {
      const object = objectOf(stage);
      await object.call("put", { a: 1, b: 2, c: 3 });
      expect(await object.call("clearAll")).toEqual({ before: ["a", "b", "c"], after: [] });
      expect(await object.call("keys")).toEqual([]);
    });

    scenario("shows a handler its own writes", async (stage) => {
      expect(await objectOf(stage).call("ownWrites")).toEqual([null, 1, 2, null, null, 4, ["own"]]);
    });

    scenario("replays reads and writes over sleeps", async (stage) => {
      const object = objectOf(stage);
      expect(await object.call("acrossSleeps")).toEqual(["first", "second", null]);
      expect(await object.call("keys")).toEqual(["a"]);
    });

    scenario("is read on demand when a handler chooses lazy state", async (stage) => {
      const object = objectOf(stage);
      await object.call("put", { a: "A", b: "B", c: "C" });
      expect(await object.call("lazyGet", "b")).toBe("B");
      expect(await object.call("lazyGet", "missing")).toBeNull();
      expect(await object.call("lazyKeys")).toEqual(["a", "b", "c"]);
      expect(await object.call("lazyMix")).toEqual(["A", null, "changed", "B", null, ["a", "c"], null, []]);
      expect(await object.call("keys")).toEqual([]);
    });

    scenario("takes a write before a transient failure once", async (stage) => {
      const [object, name] = [objectOf(stage), stage.key()];
      expect(await object.call("setThenFail", name)).toBe(1);
      expect(probe.count(`setThenFail:${name}`)).toBe(3);
      expect(await object.call("get", "writes")).toBe(1);
    });

    scenario("holds large values", async (stage) => {
      const object = objectOf(stage);
      const large = "z".repeat(1_500_000);
      await object.call("put", { large });
      expect(await object.call<string>("get", "large")).toHaveLength(large.length);
      expect(await object.call<string>("lazyGet", "large")).toHaveLength(large.length);
      // Too large for the start message: handlers request values one by one, and all names are there.
      await object.call("put", { a: 1, small: "s", zz: null });
      expect(await object.call("get", "zz")).toBeNull();
      expect(await object.call("get", "small")).toBe("s");
      expect(await object.call("get", "missing")).toBeNull();
      expect(await object.call("keys")).toEqual(["a", "large", "small", "zz"]);
      expect(await object.call("ownWrites")).toEqual([null, 1, 2, null, null, 4, ["own"]]);
    });
  });

  describe("exclusive handlers", () => {
    scenario("of one key never overlap, and each sees the last one's writes", async (stage) => {
      const key = stage.key();
      const results = await Promise.all(Array.from({ length: 12 }, () => stage.callOn<number>("Store", key, "slowAdd", 1)));
      expect(results.sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
      expect(probe.get(`together:${stage.variant.suffix}:${key}`)).toBe(1);
      expect(await stage.callOn("Store", key, "get", "count")).toBe(12);
    });

    scenario("run in the order in which they came, behind one that waits", async (stage) => {
      const key = stage.key();
      const held = await stage.sendOn("Store", key, "hold");
      const awakeable = await eventually("the awakeable", () => probe.get<string>(`held:${stage.variant.suffix}:${key}`));
      for (let i = 0; i < 6; i++) await stage.sendOn("Store", key, "append", i);
      // A shared handler overtakes waiting exclusive ones and reads what the running one has written.
      await eventually("the write", async () => (await stage.callOn("Store", key, "get", "held")) === awakeable);
      expect(await stage.callOn("Store", key, "get", "list")).toBeNull();
      await stage.ingress.resolveAwakeable(awakeable, "go");
      expect(await stage.ingress.outcome(held.invocationId)).toEqual({ value: "go" });
      expect(await stage.callOn("Store", key, "append", "end")).toEqual([0, 1, 2, 3, 4, 5, "end"]);
    });

    scenario("know their key, whatever is in it", async (stage) => {
      for (const key of ["a/b c+d", "ключ 🦊", "100%", `"'\\`, "send", ".."]) {
        const unique = `${key}${stage.key()}`;
        expect(await stage.callOn("Store", unique, "key")).toBe(unique);
        expect(await stage.callOn("Store", unique, "sharedKey")).toBe(unique);
      }
    });
  });
}
