import { describe, expect, test } from "@jest/globals";
import { parseRange, TrustedProxies } from "./trusted-proxies.js";

const RANGES = ["10.0.0.0/8", "fd00::/8", "192.0.2.1"];
const xff = new TrustedProxies(RANGES, "x-forwarded-for");
const forwarded = new TrustedProxies(RANGES, "forwarded");

describe("T15: client address of a request", () => {
  test("is the peer when that is not a trusted proxy, whatever its headers contain", () => {
    expect(xff.clientOf("203.0.113.7", ["X-Forwarded-For", "198.51.100.1"])).toBe("203.0.113.7");
    expect(xff.clientOf("2001:db8::7", ["x-forwarded-for", "198.51.100.1"])).toBe("2001:db8::7");
  });

  test.each([
    ["the last address that a proxy appended", "198.51.100.9", "198.51.100.9"],
    ["read from the right: what a client claims stands further left", "1.2.3.4, 198.51.100.9", "198.51.100.9"],
    ["before proxies that are trusted too", "1.2.3.4, 198.51.100.9, 10.9.9.9, 192.0.2.1", "198.51.100.9"],
    ["of IPv6", "198.51.100.9, 2001:db8::7, fd00::1", "2001:db8::7"],
    ["with a port", "198.51.100.9:4711", "198.51.100.9"],
    ["of IPv6 with a port", "[2001:db8::7]:4711", "2001:db8::7"],
    ["mapped into IPv6", "::ffff:198.51.100.9", "198.51.100.9"],
    ["the leftmost where all are trusted", "10.1.1.1, 10.2.2.2", "10.1.1.1"],
    ["the proxy that reported nothing readable", "198.51.100.9, unknown, 10.2.2.2", "10.2.2.2"],
    ["the peer where nothing can be read", "what?", "10.0.0.1"],
    ["the peer where the value is empty", "", "10.0.0.1"],
  ])("is %s", (_what, value, client) => {
    expect(xff.clientOf("10.0.0.1", ["host", "h", "X-Forwarded-For", value])).toBe(client);
  });

  test("is read from all lines of the header, in order, and from that header alone", () => {
    const headers = ["x-forwarded-for", "1.2.3.4", "forwarded", "for=5.6.7.8", "x-forwarded-for", "198.51.100.9"];
    expect(xff.clientOf("::ffff:10.0.0.1", headers)).toBe("198.51.100.9");
    expect(forwarded.clientOf("10.0.0.1", headers)).toBe("5.6.7.8");
    expect(xff.clientOf("10.0.0.1", ["forwarded", "for=5.6.7.8"])).toBe("10.0.0.1");
  });

  test.each([
    ["for=198.51.100.9;proto=https;by=10.0.0.1", "198.51.100.9"],
    ['for=1.2.3.4, For="[2001:db8::7]:4711";proto=http', "2001:db8::7"],
    ['proto=https; for="198.51.100.9:80"', "198.51.100.9"],
    ["for=198.51.100.9, for=_hidden", "10.0.0.1"],
    ["for=198.51.100.9, proto=https", "10.0.0.1"],
    ['for="198.51.100.9', "10.0.0.1"],
  ])("is read from 'Forwarded: %s'", (value, client) => {
    expect(forwarded.clientOf("10.0.0.1", ["Forwarded", value])).toBe(client);
  });

  test("is read across a bounded number of proxies", () => {
    const value = ["198.51.100.9", ...new Array<string>(40).fill("10.1.1.1")].join(", ");
    expect(xff.clientOf("10.0.0.1", ["x-forwarded-for", value])).toBe("10.1.1.1");
  });
});

test.each(["10.0.0.0/33", "fd00::/129", "10.0.0/8", "example.org", "10.0.0.0/8/8", "", "::g/8"])(
  "'%s' is not a range of addresses",
  (text) => {
    expect(parseRange(text)).toBeUndefined();
    expect(() => new TrustedProxies([text], "forwarded")).toThrow(TypeError);
  },
);
