import { expect, test } from "@jest/globals";
import { toBinaryString, utf8 } from "@perdure/base";
import { stateVersion as versionOfPartition } from "@perdure/state-machine";
import fc from "fast-check";
import { bytesOfHex, stateVersion } from "./state.js";

test("the version of no state is that of the interface", () => {
  expect(stateVersion(new Map())).toBe("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
});

test("a version is the one that the partition computes", () => {
  const state = fc.array(fc.tuple(fc.string({ unit: "grapheme", maxLength: 8 }), fc.uint8Array({ maxLength: 12 })), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(state, (entries) => {
      const map = new Map(entries);
      const stored = [...map].map(([key, value]) => [toBinaryString(utf8(key)), value] as const);
      expect(stateVersion(map)).toBe(versionOfPartition(stored));
    }),
    { numRuns: 50 },
  );
});

test("bytes are read from hexadecimal digits only", () => {
  expect(bytesOfHex("00ff41")).toEqual(new Uint8Array([0, 255, 65]));
  expect(() => bytesOfHex("0g")).toThrow(TypeError);
});
