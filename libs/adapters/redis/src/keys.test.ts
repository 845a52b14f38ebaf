import { expect, test } from "@jest/globals";
import type { TimerKey } from "@perdure/state-machine";
import { arbitraryId } from "@perdure/storage/testing";
import fc from "fast-check";
import { objectName, parseObjectName, parseTimerMember, partitionPrefix, timerMember } from "./keys.js";

const ALONE = { keyPrefix: "" };

const arbitraryTimer: fc.Arbitrary<TimerKey> = fc.record({
  dueAtMs: fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -3, max: 3 }), fc.constant(Number.MAX_SAFE_INTEGER)),
  kind: fc.constantFrom("sleep", "start", "purge", "purgeJournal"),
  id: arbitraryId,
  sequence: fc.nat(0xffff_ffff),
});

test("a timer's member contains all of its key, and members sort by due time", () => {
  fc.assert(
    fc.property(arbitraryTimer, arbitraryTimer, (a, b) => {
      expect(parseTimerMember(timerMember(a))).toEqual(a);
      if (a.dueAtMs < b.dueAtMs) expect(timerMember(a) < timerMember(b)).toBe(true);
      expect(timerMember(a) === timerMember(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
    }),
  );
});

test("an object's name contains its service and key, whatever characters they have", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1 });
  fc.assert(
    fc.property(text, fc.string({ unit: "grapheme" }), (service, key) => {
      expect(parseObjectName(objectName(service, key))).toEqual({ service, key });
    }),
  );
  expect(parseObjectName(objectName("a/b%", "c/d"))).toEqual({ service: "a/b%", key: "c/d" });
});

test("an environment's name cannot leave its hash tag", () => {
  expect(partitionPrefix(ALONE, "env_1-a.b", 7)).toBe("{env_1-a.b:7}:");
  expect(partitionPrefix({ keyPrefix: "shared:" }, "env_1", 7)).toBe("shared:{env_1:7}:");
  for (const name of ["", "a}b", "{a", "a b", "a:1", "x".repeat(129)])
    expect(() => partitionPrefix(ALONE, name, 0)).toThrow("OPS0001");
});
