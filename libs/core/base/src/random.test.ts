import { expect, test } from "@jest/globals";
import { systemRandom, toHex } from "./index.js";

test("fills arrays of every size, small ones from the pool and large ones directly", () => {
  for (const size of [0, 1, 10, 63, 64, 65, 5000]) {
    const values = new Set<string>();
    for (let i = 0; i < 3; i++) {
      const bytes = new Uint8Array(size);
      systemRandom.bytes(bytes);
      values.add(toHex(bytes));
    }
    if (size >= 10) expect(values.size).toBe(3);
    else expect(values.size).toBeGreaterThan(0);
  }
});

test("leaves what lies beside the array alone", () => {
  const bytes = new Uint8Array(40);
  systemRandom.bytes(bytes.subarray(10, 30));
  expect(toHex(bytes.subarray(0, 10)) + toHex(bytes.subarray(30))).toBe("00".repeat(20));
});

test("does not repeat itself over many pools", () => {
  const values = new Set<string>();
  for (let i = 0; i < 5000; i++) {
    const bytes = new Uint8Array(10);
    systemRandom.bytes(bytes);
    values.add(toHex(bytes));
    systemRandom.uint32(); // Mixed sizes must not make the pool return bytes twice.
  }
  expect(values.size).toBe(5000);
});

test("numbers are in range and spread over it", () => {
  let sum = 0;
  let words = 0;
  for (let i = 0; i < 10_000; i++) {
    const float = systemRandom.float();
    expect(float >= 0 && float < 1).toBe(true);
    sum += float;
    const word = systemRandom.uint32();
    expect(Number.isInteger(word) && word >= 0 && word <= 0xffff_ffff).toBe(true);
    words |= word;
  }
  expect(sum / 10_000).toBeGreaterThan(0.45);
  expect(sum / 10_000).toBeLessThan(0.55);
  expect(words >>> 0).toBe(0xffff_ffff);
});
