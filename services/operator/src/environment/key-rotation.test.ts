import { expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { newSigningKey } from "../signing-key.js";
import { currentKeyOf, publicKeysOf, rotated } from "./key-rotation.js";

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
const at = (nowMs: number) => ({ nowMs, overlapMs: DAY_MS, newKey: newSigningKey });

test("a new key is shown for a day, then signs, and the old one stays shown", () => {
  const first = { "current.pem": newSigningKey().reveal() };
  expect(rotated(first, undefined, at(NOW_MS)).data).toBe(first);
  const published = rotated(first, "once", at(NOW_MS));
  expect(published.againMs).toBe(DAY_MS);
  const [current, next] = publicKeysOf(published.data, systemClock);
  expect(publicKeysOf(first, systemClock)).toEqual([current]);
  expect(currentKeyOf(published.data).reveal()).toBe(first["current.pem"]);

  const waiting = rotated(published.data, "once", at(NOW_MS + DAY_MS - 1));
  expect([waiting.data, waiting.againMs]).toEqual([published.data, 1]);
  const flipped = rotated(published.data, "once", at(NOW_MS + DAY_MS));
  expect(publicKeysOf(flipped.data, systemClock)).toEqual([next, current]);
  expect(flipped.againMs).toBeUndefined();
  expect(rotated(flipped.data, "once", at(NOW_MS + 9 * DAY_MS)).data).toBe(flipped.data);
  expect(rotated(flipped.data, undefined, at(NOW_MS + 9 * DAY_MS)).data).toBe(flipped.data);
});

test("two rotation requests in a day result in two keys, one after the other", () => {
  const first = { "current.pem": newSigningKey().reveal() };
  const published = rotated(first, "one", at(NOW_MS));
  const second = rotated(published.data, "two", at(NOW_MS + 1));
  expect(second.data).toBe(published.data);
  const flipped = rotated(published.data, "two", at(NOW_MS + DAY_MS));
  const [current, next, previous] = publicKeysOf(flipped.data, systemClock);
  expect([current, previous]).toEqual(publicKeysOf(published.data, systemClock).toReversed());
  expect(next).toMatch(/^publickeyv1_/);
  expect(flipped.againMs).toBe(DAY_MS);
});
