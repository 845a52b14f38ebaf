import { expect, test } from "@jest/globals";
import { formatRfc3339Offset, formatTimestampNanos } from "./index.js";

test("moments are written as the recorded answers write them", () => {
  const ms = Date.UTC(2026, 10, 21, 6, 5, 55, 918);
  expect(formatTimestampNanos(ms)).toBe("2026-11-21T06:05:55.918000000Z");
  expect(formatRfc3339Offset(ms)).toBe("2026-11-21T06:05:55.918+00:00");
});

test("digits of the fraction are always there", () => {
  expect(formatTimestampNanos(0)).toBe("1970-01-01T00:00:00.000000000Z");
  expect(formatRfc3339Offset(0)).toBe("1970-01-01T00:00:00.000+00:00");
});
