import { expect, test } from "@jest/globals";
import { isOfPattern, partOf } from "./part.js";

test.each([
  ["/", "/", true],
  ["/services", "/services", true],
  ["/services/:service", "/services/Greeter", true],
  ["/services/:service", "/services", false],
  ["/services", "/services/Greeter", false],
  ["/state/:service/:key", "/state/Stock/a%2Fb", true],
  ["/sql", "/flow", false],
])("whether %s is what shows %s: %s", (pattern, path, is) => expect(isOfPattern(pattern, path)).toBe(is));

const Loaded = () => null;

test("a part that is here is shown as it is; one that is not waits, and fails only where it is shown", async () => {
  const good = partOf(async () => ({ default: Loaded }));
  expect([good.isHere(), good.shown() === Loaded]).toEqual([false, false]);
  await good.preload();
  expect([good.isHere(), good.shown() === Loaded]).toEqual([true, true]);

  let tries = 0;
  const flaky = partOf(async () => {
    if (tries++ === 0) throw new Error("gone");
    return { default: Loaded };
  });
  await flaky.preload();
  expect(flaky.isHere()).toBe(false);
  await flaky.preload();
  expect(flaky.shown()).toBe(Loaded);
});
