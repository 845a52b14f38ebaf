import { describe, expect, test } from "@jest/globals";
import { FORWARDED_SECONDS_MAX, ForwardingKeys } from "./forwarding.js";

const line = (number: number, byte: number): string => `${number} ${Buffer.alloc(32, byte).toString("base64")}`;
const keys = ForwardingKeys.parse(line(1, 7), "test");
const HOST = "x.env.us.perdure.test:8080";
const NOW = 1_700_000_000_500;

describe("forwarded client address", () => {
  test.each(["203.0.113.7", "2001:db8::1", "::ffff:203.0.113.7"])(
    "%s is accepted when a holder of the key signed it",
    (address) => {
      expect(keys.verify(keys.sign(address, HOST, NOW), HOST.toUpperCase(), NOW + 1_000)).toBe(address);
    },
  );

  test("the zone of an interface is removed", () => {
    expect(keys.verify(keys.sign("fe80::1%eth0", HOST, NOW), HOST, NOW)).toBe("fe80::1");
  });

  test("is accepted for its host, within a minute in both directions", () => {
    const value = keys.sign("203.0.113.7", HOST, NOW);
    const far = (FORWARDED_SECONDS_MAX + 1) * 1_000;
    expect(keys.verify(value, "y.env.us.perdure.test:8080", NOW)).toBeUndefined();
    expect([keys.verify(value, HOST, NOW + far), keys.verify(value, HOST, NOW - far)]).toEqual([undefined, undefined]);
    expect(keys.verify(value, HOST, NOW - far + 2_000)).toBe("203.0.113.7");
  });

  test("is rejected when any part of it differs or it is malformed", () => {
    const value = keys.sign("203.0.113.7", HOST, NOW);
    const [number, time, address, shown] = value.split(" ") as [string, string, string, string];
    const other = shown.startsWith("A") ? `B${shown.slice(1)}` : `A${shown.slice(1)}`;
    for (const forged of [
      `${number} ${time} 203.0.113.8 ${shown}`,
      `${number} ${Number(time) + 1} ${address} ${shown}`,
      `${number} ${time} ${address} ${other}`,
      `2 ${time} ${address} ${shown}`,
      `${number} ${time} ${address}`,
      `${value} x`,
      `${value}, ${value}`,
      "203.0.113.7",
      "",
    ]) {
      expect([forged, keys.verify(forged, HOST, NOW)]).toEqual([forged, undefined]);
    }
    expect(keys.verify(keys.sign("1.2.3", HOST, NOW), HOST, NOW)).toBeUndefined(); // Signed, but not an address.
  });

  test("keys are rotated process by process: the highest signs, all verify", () => {
    const both = ForwardingKeys.parse(`# old\n${line(1, 7)}\n\n${line(2, 8)} # new\n`, "test");
    expect(both.verify(keys.sign("203.0.113.7", HOST, NOW), HOST, NOW)).toBe("203.0.113.7");
    expect(both.sign("203.0.113.7", HOST, NOW)).toMatch(/^2 /);
    expect(keys.verify(both.sign("203.0.113.7", HOST, NOW), HOST, NOW)).toBeUndefined();
  });

  test.each([
    ["", "no key"],
    ["1 short", "line 1"],
    [`${line(1, 1)}\n${line(1, 2)}`, "line 2"],
  ])("a file with %j is refused, and its text stays out of the error", (text, said) => {
    expect(() => ForwardingKeys.parse(text, "forwarding-key-file")).toThrow(
      expect.objectContaining({ code: "OPS0001", message: expect.stringContaining(said) }),
    );
  });
});
