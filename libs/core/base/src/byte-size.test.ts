import { expect, test } from "@jest/globals";
import { formatByteSize, parseByteSize } from "./index.js";

test.each<[string | number, number]>([
  ["32MiB", 33_554_432],
  ["32 MiB", 33_554_432],
  ["10 MB", 10_000_000],
  ["10mb", 10_000_000],
  ["1024", 1024],
  [1024, 1024],
  ["0", 0],
  ["64 KiB", 65_536],
  ["1.5 GiB", 1_610_612_736],
  ["2T", 2_000_000_000_000],
  ["7 bytes", 7],
  ["10_000 B", 10_000],
  ["  4k ", 4000],
])("%p is %d bytes", (input, bytes) => {
  expect(parseByteSize(input)).toEqual({ ok: true, bytes });
});

test.each<[string | number, string]>([
  ["", "not a size"],
  ["MiB", "not a size"],
  ["-5", "not a size"],
  ["1.2.3", "not a size"],
  ["5 elephants", "'elephants' is not a unit of size"],
  [-1, "cannot be negative"],
  [Number.NaN, "cannot be negative"],
  ["99999999 TiB", "too large"],
  ["1".repeat(300), "not a size"],
])("%p is refused", (input, reason) => {
  const parsed = parseByteSize(input);
  expect(parsed.ok ? "accepted" : parsed.reason).toContain(reason);
});

test.each([
  [33_554_432, "32 MiB"],
  [1536, "1.5 KiB"],
  [512, "512 B"],
  [0, "0 B"],
  [5 * 1024 ** 4, "5 TiB"],
  [1_234_567, "1.18 MiB"],
])("%d bytes are shown as %p", (bytes, text) => {
  expect(formatByteSize(bytes)).toBe(text);
});
