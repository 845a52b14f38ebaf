import { describe, expect, test } from "@jest/globals";
import { HeaderFields } from "./header-fields.js";
import { headersTooLarge, noUpgrades } from "./refusal.js";

describe("headers", () => {
  test("are found whatever their case; of repeated ones the first counts, and values of connection are joined", () => {
    const fields = new HeaderFields();
    const raw = [
      "Origin",
      "a",
      "ORIGIN",
      "b",
      "Connection",
      "close",
      "connection",
      "x-a",
      "Authorization",
      "",
      "User-Agent",
      "u",
    ];
    expect(fields.read(raw)).toBeUndefined();
    expect(fields).toMatchObject({ origin: "a", connection: "close,x-a", hasAuthorization: true, userAgent: "u" });
  });

  test("are counted where more than one is ambiguous", () => {
    const fields = new HeaderFields();
    expect(fields.read([":authority", "a", "host", "b", "Host", "c"])).toBeUndefined();
    expect(fields).toMatchObject({ authority: "a", host: "c", hostCount: 2 });
  });
});

describe("a request is refused", () => {
  test.each([
    ["content-length", "1", "content-length", "1"],
    ["content-length", "+1"],
    ["transfer-encoding", "gzip, chunked"],
    ["transfer-encoding", "chunked", "content-length", "1"],
  ])("when the length of its body is ambiguous: %s %s", (...raw) => {
    expect(new HeaderFields().read(raw)).toMatchObject({ status: 400, reason: "malformed" });
  });

  test("when it upgrades to WebSocket", () => {
    expect(new HeaderFields().read(["upgrade", "WebSocket"])).toBe(noUpgrades);
    expect(new HeaderFields().read(["upgrade", "h2c"])).toBeUndefined();
  });

  test("with more than a hundred header lines, of which pseudo-headers are none", () => {
    const lines = (count: number) => Array.from({ length: count }, (_, n) => [`x-${n}`, "v"]).flat();
    expect(new HeaderFields().read([":method", "GET", ...lines(100)])).toBeUndefined();
    expect(new HeaderFields().read(lines(101))).toBe(headersTooLarge);
    expect(new HeaderFields().read(["x", "y".repeat(32 * 1024)])).toBe(headersTooLarge);
  });
});
