import { describe, expect, test } from "@jest/globals";
import { protocolOf } from "./sniff.js";

describe("the first bytes of a connection", () => {
  test.each([
    ["", undefined],
    ["P", undefined],
    ["PR", undefined],
    ["PRI", "h2c"],
    ["PRI * HTTP/2.0\r\n", "h2c"],
    ["PO", "http/1.1"],
    ["PROPFIND / HTTP/1.1", "http/1.1"],
    ["GET / HTTP/1.1", "http/1.1"],
    ["\u0000", "http/1.1"],
    ["pri", "http/1.1"],
  ])("%j", (text, protocol) => {
    expect(protocolOf(Buffer.from(text, "latin1"))).toBe(protocol);
  });
});
