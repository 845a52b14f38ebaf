import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { BriefCache } from "./brief-cache.js";

const clock = new VirtualClock();
const overloaded = () => new Error("overloaded");
const isUnknown = (value: string) => value === "unknown";
const common = { clock, validMs: () => 1_000, overloaded, isUnknown };

test("unknown keys do not evict existing ones", async () => {
  const load = async (key: string) => (key.startsWith("real") ? key : "unknown");
  const cache = new BriefCache<string, string>({ ...common, entriesMax: 3, loadsMax: 10, load });
  await cache.get("real");
  for (let i = 0; i < 10; i++) await cache.get(`invented ${i}`);
  expect([cache.peek("real"), cache.peek("invented 0"), cache.peek("invented 9")]).toEqual(["real", undefined, "unknown"]);
  for (let i = 0; i < 3; i++) await cache.get(`real ${i}`);
  expect(cache.peek("real")).toBeUndefined();
});

test("a key that begins or ceases to exist has one entry", async () => {
  let exists = false;
  const load = async () => (exists ? "real" : "unknown");
  const cache = new BriefCache<string, string>({ ...common, entriesMax: 3, loadsMax: 10, load });
  for (const now of [false, true, false]) {
    exists = now;
    await cache.get("key");
    expect(cache.peek("key")).toBe(now ? "real" : "unknown");
    cache.evict("key");
    expect(cache.peek("key")).toBeUndefined();
  }
});

test("so many loads run at the same time, one for each key", async () => {
  const loads: ((value: string) => void)[] = [];
  const load = () => new Promise<string>((resolve) => loads.push(resolve));
  const cache = new BriefCache<string, string>({ ...common, entriesMax: 3, loadsMax: 2, load });
  const waiting = [cache.get("a"), cache.get("b"), cache.get("a")];
  await expect(cache.get("c")).rejects.toThrow("overloaded");
  expect(loads).toHaveLength(2);
  for (const resolve of loads) resolve("real");
  expect(await Promise.all(waiting)).toEqual(["real", "real", "real"]);
  void cache.get("c");
  expect(loads).toHaveLength(3);
});
