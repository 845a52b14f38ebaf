import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { BoundedCache } from "./bounded-cache.js";

const keysOf = <K, V>(cache: BoundedCache<K, V>): K[] => Array.from(cache, ([key]) => key);

describe("a full cache", () => {
  test("evicts the entry that was used longest ago", () => {
    const cache = new BoundedCache<string, number>({ entriesMax: 2 });
    cache.set("a", 1);
    cache.set("b", 2);
    expect(cache.get("a")).toBe(1);
    cache.set("c", 3);
    expect(keysOf(cache)).toEqual(["a", "c"]);
    cache.set("a", 4);
    cache.set("d", 5);
    expect([...cache]).toEqual([
      ["a", 4],
      ["d", 5],
    ]);
  });

  test("does not count a peek as a use", () => {
    const cache = new BoundedCache<string, number>({ entriesMax: 2 });
    cache.set("a", 1);
    cache.set("b", 2);
    expect([cache.peek("a"), cache.has("a")]).toEqual([1, true]);
    cache.set("c", 3);
    expect(keysOf(cache)).toEqual(["b", "c"]);
  });

  test("evicts as many entries as a heavy one needs, and keeps none that is too heavy for it", () => {
    const cache = new BoundedCache<string, string>({ entriesMax: 10, weight: { of: (text) => text.length, max: 6 } });
    for (const text of ["aa", "bb", "cc"]) cache.set(text, text);
    cache.set("ddd", "ddd");
    expect([keysOf(cache), cache.weight]).toEqual([["cc", "ddd"], 5]);
    cache.set("ddd", "7 chars");
    expect([keysOf(cache), cache.weight]).toEqual([["cc"], 2]);
  });
});

describe("an entry", () => {
  test("expires after the time to live of the cache, or its own", () => {
    let nowMs = 0;
    const clock = { nowMs: () => 0, monotonicMs: () => nowMs, setTimer: () => ({ cancel() {} }) };
    const cache = new BoundedCache<string, number>({ entriesMax: 9, expiry: { clock, ttlMs: 10 } });
    cache.set("a", 1);
    cache.set("b", 2, 20);
    nowMs = 9;
    expect([cache.get("a"), cache.get("b")]).toEqual([1, 2]);
    nowMs = 10;
    expect([cache.get("a"), cache.get("b"), cache.size]).toEqual([undefined, 2, 1]);
    cache.set("b", 3);
    nowMs = 19;
    expect(cache.peek("b")).toBe(3);
    nowMs = 20;
    expect([cache.has("b"), cache.size]).toEqual([false, 0]);
  });

  test("is made once, when it is requested for the first time", () => {
    const cache = new BoundedCache<string, object>({ entriesMax: 2 });
    const first = cache.getOrCreate("a", () => ({}));
    expect(cache.getOrCreate("a", () => ({}))).toBe(first);
    cache.delete("a");
    expect(cache.getOrCreate("a", () => ({}))).not.toBe(first);
  });

  test("is removed alone, with those that match, or with all", () => {
    const cache = new BoundedCache<number, string>({ entriesMax: 9, weight: { of: () => 1, max: 9 } });
    for (const key of [1, 2, 3, 4, 5]) cache.set(key, `value ${key}`);
    expect([cache.delete(1), cache.delete(1)]).toEqual([true, false]);
    cache.deleteWhere((key, value) => key === 2 || value === "value 3");
    expect([keysOf(cache), cache.weight]).toEqual([[4, 5], 2]);
    cache.clear();
    expect([cache.size, cache.weight]).toEqual([0, 0]);
  });
});

/** The same promises with nothing but a list, most recently used last. */
class ListedCache {
  #entries: { key: number; weight: number; untilMs: number }[] = [];
  readonly entriesMax: number;
  readonly weightMax: number;

  constructor(entriesMax: number, weightMax: number) {
    this.entriesMax = entriesMax;
    this.weightMax = weightMax;
  }

  get keys(): number[] {
    return this.#entries.map(({ key }) => key);
  }

  get(key: number, nowMs: number, isUse: boolean): number | undefined {
    const entry = this.#entries.find((one) => one.key === key);
    if (entry === undefined) return undefined;
    if (entry.untilMs <= nowMs || isUse) this.#entries = this.#entries.filter((one) => one !== entry);
    if (entry.untilMs <= nowMs) return undefined;
    if (isUse) this.#entries.push(entry);
    return entry.weight;
  }

  set(key: number, weight: number, untilMs: number): void {
    this.#entries = this.#entries.filter((one) => one.key !== key);
    if (weight > this.weightMax) return;
    this.#entries.push({ key, weight, untilMs });
    const sum = (): number => this.#entries.reduce((total, one) => total + one.weight, 0);
    while (this.#entries.length > this.entriesMax || sum() > this.weightMax) this.#entries.shift();
  }
}

test("after any steps it has the entries of a list in order of use, within both bounds", () => {
  const key = fc.integer({ min: 0, max: 6 });
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("set" as const),
      key,
      weight: fc.integer({ min: 0, max: 12 }),
      ttlMs: fc.integer({ min: 0, max: 5 }),
    }),
    fc.record({ kind: fc.constantFrom("get" as const, "peek" as const), key }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 3 }) }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (entriesMax, steps) => {
      let nowMs = 0;
      const clock = { nowMs: () => 0, monotonicMs: () => nowMs, setTimer: () => ({ cancel() {} }) };
      const listed = new ListedCache(entriesMax, 10);
      const options = { entriesMax, expiry: { clock, ttlMs: 1 }, weight: { of: (weight: number) => weight, max: 10 } };
      const cache = new BoundedCache<number, number>(options);
      for (const one of steps) {
        if (one.kind === "wait") nowMs += one.ms;
        else if (one.kind !== "set") expect(cache[one.kind](one.key)).toBe(listed.get(one.key, nowMs, one.kind === "get"));
        else {
          cache.set(one.key, one.weight, one.ttlMs);
          listed.set(one.key, one.weight, nowMs + one.ttlMs);
        }
        expect(keysOf(cache)).toEqual(listed.keys);
        expect(cache.size <= entriesMax && cache.weight <= 10).toBe(true);
      }
    }),
  );
});
