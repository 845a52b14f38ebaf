import { expect, test } from "@jest/globals";
import { anId } from "@perdure/partition/testing";
import { KnownStatuses } from "./known-statuses.js";
import { KNOWN_STATUSES_MAX } from "./limits.js";

test("a status is news once, again when it is another one, and again after it left the index", () => {
  const known = new KnownStatuses();
  expect([known.isNews(anId(1), 2), known.isNews(anId(1), 2), known.isNews(anId(1), 4), known.isNews(anId(1), 2)]).toEqual([
    true,
    false,
    true,
    true,
  ]);
  known.forget(anId(1));
  expect(known.isNews(anId(1), 2)).toBe(true);
});

test("when more are known than may be all of them are news again", () => {
  const known = new KnownStatuses();
  for (let n = 0; n <= KNOWN_STATUSES_MAX; n++) expect(known.isNews(anId(n), 2)).toBe(true);
  expect(known.isNews(anId(0), 2)).toBe(true);
});
