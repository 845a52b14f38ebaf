import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { systemRandom, toHex } from "./index.js";
import { writeUlid } from "./ulid.js";

test("any time of 48 bits comes first, big-endian, and nothing beside the field is written", () => {
  fc.assert(
    fc.property(fc.nat(2 ** 48 - 1), (nowMs) => {
      const bytes = new Uint8Array(20);
      writeUlid(bytes, 2, nowMs, { bytes: (into) => void into.fill(0xcd), uint32: () => 0, float: () => 0 });
      expect(toHex(bytes)).toBe(`0000${nowMs.toString(16).padStart(12, "0")}${"cd".repeat(10)}0000`);
    }),
  );
});

test("two of the same moment differ", () => {
  const both = new Uint8Array(32);
  writeUlid(both, 0, 5, systemRandom);
  writeUlid(both, 16, 5, systemRandom);
  expect(toHex(both.subarray(0, 16))).not.toBe(toHex(both.subarray(16)));
});
