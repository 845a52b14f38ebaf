import { expect, test } from "@jest/globals";
import { anId } from "@perdure/state-machine/testing";
import { CACHED_STATUSES_MAX } from "./limits.js";
import { StatusCache } from "./status-cache.js";

test("a status is written once, again when it is another one, and again after it left the index", () => {
  const cache = new StatusCache();
  expect([
    cache.needsWrite(anId(1), 2),
    cache.needsWrite(anId(1), 2),
    cache.needsWrite(anId(1), 4),
    cache.needsWrite(anId(1), 2),
  ]).toEqual([true, false, true, true]);
  cache.evict(anId(1));
  expect(cache.needsWrite(anId(1), 2)).toBe(true);
});

test("when the cache is full the status that was written first is written again", () => {
  const cache = new StatusCache();
  for (let n = 0; n <= CACHED_STATUSES_MAX; n++) expect(cache.needsWrite(anId(n), 2)).toBe(true);
  expect(cache.needsWrite(anId(0), 2)).toBe(true);
});
