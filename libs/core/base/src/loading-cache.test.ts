import { beforeEach, describe, expect, test } from "@jest/globals";
import { LoadingCache, type LoadingCacheOptions } from "./loading-cache.js";

let nowMs = 0;
const clock = { nowMs: () => 0, monotonicMs: () => nowMs, setTimer: () => ({ cancel() {} }) };
beforeEach(() => {
  nowMs = 0;
});

function cacheOf(options: Partial<LoadingCacheOptions<string>> = {}): LoadingCache<string, string> {
  return new LoadingCache<string, string>({
    clock,
    entriesMax: 3,
    negativeEntriesMax: 3,
    loadsMax: 10,
    overloaded: () => new Error("overloaded"),
    lifetimeOf: (value) => ({ ttlMs: 1_000, isNegative: value === "unknown" }),
    ...options,
  });
}
const returning = (value: string) => async () => value;
const failing = async (): Promise<string> => Promise.reject(new Error("away"));
const never = failing;

describe("loads", () => {
  test("run at most once for a key, and not more than the bound at the same time", async () => {
    const ends: ((value: string) => void)[] = [];
    const load = () => new Promise<string>((resolve) => ends.push(resolve));
    const cache = cacheOf({ loadsMax: 2 });
    const waiting = [cache.get("a", load), cache.get("b", load), cache.get("a", load)];
    await expect(cache.get("c", load)).rejects.toThrow("overloaded");
    expect(ends).toHaveLength(2);
    for (const end of ends) end("real");
    expect(await Promise.all(waiting)).toEqual(["real", "real", "real"]);
    void cache.get("c", load);
    expect(ends).toHaveLength(3);
  });

  test("that fail are repeated by the next request", async () => {
    const cache = cacheOf();
    await expect(cache.get("a", failing)).rejects.toThrow("away");
    expect(await cache.get("a", returning("real"))).toBe("real");
    expect([cache.hits, cache.misses, cache.size]).toEqual([0, 2, 1]);
  });

  test("during which the key changes serve the callers that wait, and the next caller loads again", async () => {
    for (const change of ["evict", "evictWhere", "clear", "outdateAll"] as const) {
      const cache = cacheOf();
      const old = Promise.withResolvers<string>();
      const waiting = cache.get("a", () => old.promise);
      if (change === "evict") cache.evict("a");
      else if (change === "evictWhere") cache.evictWhere(() => false);
      else cache[change]();
      expect(await cache.get("a", returning("new"))).toBe("new");
      old.resolve("old");
      expect([change, await waiting, cache.get("a", never)]).toEqual([change, "old", "new"]);
    }
  });
});

describe("a value", () => {
  test("is returned at once until its time is over, then loaded again", async () => {
    const cache = cacheOf();
    await cache.get("a", returning("one"));
    nowMs = 999;
    expect([cache.get("a", never), cache.hits]).toEqual(["one", 1]);
    nowMs = 1_000;
    expect(await cache.get("a", returning("two"))).toBe("two");
  });

  test("without a time to live is returned to the callers that wait and not kept", async () => {
    const cache = cacheOf({ lifetimeOf: () => ({ ttlMs: 0 }) });
    expect([await cache.get("a", returning("one")), cache.size, cache.has("a")]).toEqual(["one", 0, false]);
  });

  test("is refreshed in the background by a use shortly before its time is over", async () => {
    const cache = cacheOf({ lifetimeOf: () => ({ ttlMs: 1_000, refreshAfterMs: 600 }) });
    await cache.get("a", returning("one"));
    nowMs = 599;
    expect(cache.get("a", never)).toBe("one");
    nowMs = 600;
    expect(cache.get("a", returning("two"))).toBe("one"); // This use starts the load.
    await Promise.resolve();
    expect(cache.get("a", never)).toBe("two");
  });

  test("is used for longer while loads fail, with one load a second", async () => {
    const cache = cacheOf({ lifetimeOf: () => ({ ttlMs: 1_000, staleMs: 5_000 }) });
    await cache.get("a", returning("one"));
    nowMs = 1_000;
    expect(await cache.get("a", failing)).toBe("one");
    expect([cache.get("a", never), cache.staleHits]).toEqual(["one", 1]); // No load: the last one failed just now.
    nowMs = 4_999;
    expect(await cache.get("a", failing)).toBe("one");
    nowMs = 5_000;
    await expect(cache.get("a", failing)).rejects.toThrow("away");
  });

  test("that was outdated is loaded again, and used only while that fails; one that was evicted is not used", async () => {
    const cache = cacheOf({ lifetimeOf: () => ({ ttlMs: 1_000, staleMs: 5_000 }) });
    await cache.get("a", returning("one"));
    cache.outdateAll();
    expect([cache.has("a"), cache.fresh("a", never)]).toEqual([true, undefined]);
    expect(await cache.get("a", failing)).toBe("one");
    cache.evictWhere((value) => value === "one");
    await expect(cache.get("a", failing)).rejects.toThrow("away");
  });

  test("expires apart from others that were loaded with it when there is jitter, and never later than its time", async () => {
    const parts = [0, 0.5, 0.999];
    const random = { float: () => parts.shift() ?? 0, uint32: () => 0, bytes: () => undefined };
    const cache = cacheOf({ jitter: 0.2, random });
    for (const key of ["a", "b", "c"]) await cache.get(key, returning(key));
    const fresh = () => ["a", "b", "c"].filter((key) => cache.fresh(key, never) !== undefined);
    nowMs = 800;
    expect(fresh()).toEqual(["a", "b", "c"]);
    nowMs = 900;
    expect(fresh()).toEqual(["a"]);
    nowMs = 1_000;
    expect(fresh()).toEqual([]);
  });
});

describe("keys that do not exist", () => {
  test("do not evict existing ones", async () => {
    const cache = cacheOf();
    await cache.get("real", returning("real"));
    for (let i = 0; i < 10; i++) await cache.get(`invented ${i}`, returning("unknown"));
    const cached = ["real", "invented 0", "invented 9"].map((key) => cache.fresh(key, never));
    expect([cached, cache.size, cache.has("invented 9")]).toEqual([["real", undefined, "unknown"], 1, false]);
    for (let i = 0; i < 3; i++) await cache.get(`real ${i}`, returning("real"));
    expect(cache.fresh("real", never)).toBeUndefined();
  });

  test("have one entry when they begin or cease to exist", async () => {
    const cache = cacheOf();
    for (const value of ["unknown", "real", "unknown"]) {
      await cache.get("key", returning(value));
      expect([cache.fresh("key", never), cache.has("key")]).toEqual([value, value === "real"]);
      nowMs += 1_000;
    }
    await cache.get("key", returning("unknown"));
    cache.evict("key");
    expect(cache.fresh("key", never)).toBeUndefined();
  });

  test("are removed with every change that is not about a single key", async () => {
    for (const change of ["outdateAll", "clear"] as const) {
      const cache = cacheOf();
      await cache.get("key", returning("unknown"));
      cache[change]();
      expect(cache.fresh("key", never)).toBeUndefined();
    }
  });
});
