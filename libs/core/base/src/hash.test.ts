import { expect, test } from "@jest/globals";
import { hashBucket, hashString } from "./index.js";

test("of a key is the worked example of the specification", () => {
  expect(hashString("k1").toString(16)).toBe("548ae3cba54055b3");
});

test("of a long key does not disturb the next one, nor depend on what was hashed before", () => {
  const long = "ä💥".repeat(5000);
  const before = hashString("k1");
  const first = hashString(long);
  expect(hashString("k1")).toBe(before);
  expect(hashString(long)).toBe(first);
  expect(hashBucket(long, long, 3)).toBe(hashBucket(long, long, 3));
});

test("parts are distinct: moving a character from one to the next changes the hash", () => {
  expect(hashBucket("ab", "c", 1)).not.toBe(hashBucket("a", "bc", 1));
  expect(hashBucket("a", "b", 1)).not.toBe(hashBucket("a", "b", 2));
});
