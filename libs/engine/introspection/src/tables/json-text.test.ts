import { describe, expect, test } from "@jest/globals";
import { LISTED_BYTES_MAX } from "../limits.js";
import { cutBytesOf, jsonText } from "./json-text.js";

describe("JSON text with bytes in it", () => {
  test("is that of the same value with lists of numbers", () => {
    const every = Uint8Array.from({ length: 256 }, (_, i) => i);
    const value = { a: [1, null, 'x\u2028"', { b: true }], c: undefined, d: { e: 0.5 } };
    expect(jsonText({ ...value, bytes: every, none: new Uint8Array(0) })).toBe(
      JSON.stringify({ ...value, bytes: Array.from(every), none: [] }),
    );
    expect(cutBytesOf({ ...value, bytes: every })).toBeUndefined();
  });

  test("lists a part of long bytes, together with their length", () => {
    const value = { deep: [{ short: new Uint8Array(3) }, { long: new Uint8Array(LISTED_BYTES_MAX + 1).fill(255) }] };
    expect(cutBytesOf(value)).toBe(LISTED_BYTES_MAX + 1);
    const { deep } = JSON.parse(jsonText(value)) as { deep: [unknown, { long: number[] }] };
    expect(deep[1].long).toHaveLength(LISTED_BYTES_MAX);
    expect(jsonText(value).length).toBeLessThan(1024 * 1024 + 100);
  });
});
